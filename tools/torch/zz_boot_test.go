package torch
import ("testing";"os";"strings";"gaugeblock/tools/torch/wheel"; binary "gaugeblock/tools/torch/binary";"os/exec";"gaugeblock/fakegpu/cuda";"path/filepath";"slices")
func TestZZ(t *testing.T){ for _, v := range strings.Fields(os.Getenv("V")) { d, err := wheel.Find(v); if err!=nil{t.Error(err);continue}
 w := "/tmp/gb/w/"+v
 o, err := binary.Find(d, w); if err!=nil{t.Error(err);continue}
 if os.Getenv("B") != "" { if err := binary.Build(o); err!=nil { t.Error(v,err);continue } }
 c, _ := cuda.Compiler("CXX","c++")
 for _, f := range strings.Fields(os.Getenv("F")) {
  if err := cuda.Run(exec.Command(c, slices.Concat(o.Compile(), []string{"-c","-fsyntax-only", "-Wall","-Wextra","-Ibench/native", f,"-o",filepath.Join(w,"x.o")})...)); err!=nil {t.Error(v,err)}
 }
 t.Log(v, o.Version(), "ok") } }

package instrument
import ("testing";"os/exec")
func TestX(t *testing.T){
 dir:="/tmp/ovl"
 p,err:=Overlay("/work/wt/scheduler","alloc",dir,nil)
 if err!=nil{t.Fatal(err)}
 c:=exec.Command("go","build","-overlay",p,"./alloc"); c.Dir="/work/wt/scheduler"
 o,err:=c.CombinedOutput()
 t.Logf("%s %v",o,err)
}

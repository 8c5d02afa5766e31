package settings_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"gaugeblock/internal/kept"
	"gaugeblock/internal/mutated"
	"gaugeblock/spec"
	"gaugeblock/spec/settings"
)

// allSettings has every key, and lists.
const allSettings = "large_segment_size_mb:40,max_split_size_mb:60,max_non_split_rounding_mb:50,garbage_collection_threshold:0.25,roundup_power2_divisions:[1:0,256:4,1024:2,>:8]," +
	"expandable_segments:True,release_lock_on_cudamalloc:True,graph_capture_record_stream_reuse:True,per_process_memory_fraction:0.5,pinned_use_cuda_host_register:True," +
	"pinned_num_register_threads:2,pinned_use_background_threads:True,pinned_reserve_segment_size_mb:7,throw_on_cudamalloc_oom:True,pinned_max_round_threshold_mb:3," +
	"pinned_max_cached_size_mb:4,expandable_segments_reserve:2G,expandable_segments_reserve_by_class:[a:0.25,b:3G]"

// TestKeptAnswers reads settings of which words are left out, doubled, exchanged or other numbers, by several grammars: what is in
// force then and how it is written, or what error it is, stays as it was. testdata/answers.txt has how each is written, and a checksum of the rest, for
// each text and grammar.
//
//	go test ./spec/settings -run TestKeptAnswers -rewrite-answers
func TestKeptAnswers(t *testing.T) {
	g := spec.DefaultGeometry()
	grammars := []settings.Grammar{
		{}, {RestIncludesLast: true, NonSplitRoundingKept: true}, {Keys: settings.KeyReserve, SplitSizeAboveSegment: true}, {Keys: 1<<16 - 1},
	}
	texts := []string{allSettings}
	for _, accepted := range acceptedSettings {
		texts = append(texts, accepted.settings)
	}
	for key := range strings.SplitSeq(allSettings, ",") {
		texts = append(texts, key, key+",max_split_size_mb:100")
	}
	var got strings.Builder
	for i, text := range texts {
		for j, grammar := range grammars {
			r := rand.New(rand.NewPCG(uint64(i), 35))
			words := partsOfSettings.FindAllString(text, -1)
			said := inForce(grammar, text, g)
			for range min(3*len(words), 40) {
				said += inForce(grammar, mutated.Words(r, words, "0", "1", "2", "20", "21", "0.5", "-1", "1e3", "G", "128", "1024", "[", "]", ">", "True", ":", "99999999999999999999"), g)
			}
			fmt.Fprintf(&got, "%q by grammar %d: %s with changes %s\n", text, j, written(grammar, text, g), kept.Sum(said))
		}
	}
	kept.Compare(t, "testdata/answers.txt", got.String())
}

var partsOfSettings = regexp.MustCompile(`\d+|[A-Za-z_]+|.`)

// inForce is what a text sets.
func inForce(grammar settings.Grammar, text string, g spec.Geometry) string {
	c, err := grammar.Parse(text, g)
	if err != nil {
		return err.Error() + "\n"
	}
	said, err := json.Marshal(c)
	return fmt.Sprintln(string(said), err, grammar.Format(c, g), grammar.Has(text), settings.KeysOf(text))
}

// written is how what a text sets is written, or what error it is.
func written(grammar settings.Grammar, text string, g spec.Geometry) string {
	c, err := grammar.Parse(text, g)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%q", grammar.Format(c, g))
}

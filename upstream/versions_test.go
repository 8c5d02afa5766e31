package upstream

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gaugeblock/spec/settings"
)

// span says which releases have something: "2.6 to 2.10", "since 2.13", "all".
func span(has func(Release) bool) string {
	all := Releases()
	first := slices.IndexFunc(all, has)
	if first < 0 {
		return "none"
	}
	last := first
	for last+1 < len(all) && has(all[last+1]) {
		last++
	}
	var text string
	switch newest := len(all) - 1; {
	case first == 0 && last == newest:
		text = "all"
	case last == newest:
		text = "since " + all[first].Name
	case first == last:
		text = all[first].Name
	case first == 0:
		text = "until " + all[last].Name
	default:
		text = all[first].Name + " to " + all[last].Name
	}
	if slices.ContainsFunc(all[last+1:], has) {
		text += " and later again"
	}
	return text
}

// versionTables is what docs/versions.md has of the data.
func versionTables() string {
	var out strings.Builder
	out.WriteString("The libraries that were run beside the reference, and the operations of the runs, with both address\n" +
		"policies, in which no difference was unexplained ([lab](lab/torch-releases.md), where the others are too).\n\n| release | libraries | operations |\n|---|---|--:|\n")
	for _, r := range Releases() {
		fmt.Fprintf(&out, "| %s | %s | %s |\n", r.Name, cmp.Or(r.Tried, "not run"), thousands(r.Lockstep))
	}
	out.WriteString("\n## Rules\n\nThe fields of `upstream.Rules`, where the other half of each is said, with its pull request.\n\n" +
		"| rule | what is decided | releases |\n|---|---|---|\n")
	for _, row := range ruleRows() {
		fmt.Fprintf(&out, "| %s |\n", strings.Join(row, " | "))
	}
	out.WriteString("\n## Settings keys\n\nThose that not every release has.\n\n| key | releases |\n|---|---|\n")
	for _, key := range settingsKeys() {
		if span(func(r Release) bool { return slices.Contains(r.Rules.Settings.KeyNames(), key) }) == "all" {
			continue
		}
		fmt.Fprintf(&out, "| `%s` | %s |\n", key, span(func(r Release) bool { return slices.Contains(r.Rules.Settings.KeyNames(), key) }))
	}
	out.WriteString("\n## Snapshots and statistics\n\nKeys of snapshot files (`entry.KEY`: of trace entries) and of `memory_stats` that came behind 2.6.\n\n| key | where | since |\n|---|---|---|\n")
	for _, r := range Releases() {
		for _, key := range SnapshotKeys() {
			if r.Name == fmt.Sprintf("2.%d", key.Since) {
				fmt.Fprintf(&out, "| `%s` | snapshot | %s |\n", key.Name, r.Name)
			}
		}
		for _, key := range strings.Fields(r.Statistics) {
			fmt.Fprintf(&out, "| `%s` | statistics | %s |\n", key, r.Name)
		}
	}
	out.WriteString("\n## Repaired and new\n\n[Findings](findings.md) that a release behind 2.11 repaired or brought, and other " +
		"[deviations](deviations.md) that end.\n\n| release | repaired | new |\n|---|---|---|\n")
	for _, r := range Releases() {
		if repaired, brought := changesOf(r.Name); repaired+brought != "" {
			fmt.Fprintf(&out, "| %s | %s | %s |\n", r.Name, repaired, brought)
		}
	}
	return out.String()
}

// thousands is a number with commas, "" for 0.
func thousands(n int) string {
	if n == 0 {
		return ""
	}
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// TestLockstepIsInTheLab: the figures are those of the record of the runs.
func TestLockstepIsInTheLab(t *testing.T) {
	lab, err := os.ReadFile("../docs/lab/torch-releases.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range Releases() {
		if row := fmt.Sprintf("| %s | %s |", r.Tried, thousands(r.Lockstep)); r.Lockstep > 0 && !strings.Contains(string(lab), row) {
			t.Errorf("docs/lab/torch-releases.md has no row %s", row)
		}
	}
}

// settingsKeys are those that some release has.
func settingsKeys() (keys []string) {
	for _, r := range Releases() {
		for _, key := range r.Rules.Settings.KeyNames() {
			if !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// changesOf are the findings that a release repaired and brought, and the deviations without a
// finding that ended with the release before.
func changesOf(release string) (repaired, brought string) {
	var gone, added []string
	for i, f := range findings {
		link := fmt.Sprintf("[%d](findings.md#%s)", i+1, f.anchor(i+1))
		if f.Repaired == release {
			gone = append(gone, link)
		}
		if f.Since == release {
			added = append(added, link)
		}
	}
	for _, d := range deviations {
		if d.Until != "" && following(d.Until) == release && len(d.Findings) == 0 {
			gone = append(gone, "`"+d.ID+"`")
		}
	}
	return strings.Join(gone, ", "), strings.Join(added, ", ")
}

// ruleRows are a row for each boolean rule, and one for each value of another.
func ruleRows() (rows [][]string) {
	docs, values := ruleDocs()
	for _, structure := range []struct {
		prefix string
		of     func(Release) reflect.Value
	}{
		{"", func(r Release) reflect.Value { return reflect.ValueOf(r.Rules) }},
		{"Settings.", func(r Release) reflect.Value { return reflect.ValueOf(r.Rules.Settings) }},
	} {
		for i := range structure.of(Newest()).NumField() {
			field := structure.of(Newest()).Type().Field(i)
			value := func(r Release) reflect.Value { return structure.of(r).Field(i) }
			switch {
			case field.Type == reflect.TypeFor[settings.Grammar]() || field.Type == reflect.TypeFor[settings.KeySet]():
			case field.Type.Kind() == reflect.Bool:
				rows = append(rows, []string{"`" + structure.prefix + field.Name + "`", docs[field.Name], span(func(r Release) bool { return value(r).Bool() })})
			default:
				for n, name := range values[field.Type.Name()] {
					rows = append(rows, []string{"`" + structure.prefix + field.Name + "`: `" + name + "`", docs[name],
						span(func(r Release) bool { return value(r).Uint() == uint64(n) })})
				}
			}
		}
	}
	return rows
}

// ruleDocs are the first sentences of the comments of rules and of the values of their types,
// without the name in front; and the names of the values, by type.
func ruleDocs() (docs map[string]string, values map[string][]string) {
	docs, values = map[string]string{}, map[string][]string{}
	sentence := func(name string, group *ast.CommentGroup) {
		text := strings.Join(strings.Fields(group.Text()), " ")
		text, _, _ = strings.Cut(text, ". ")
		text, _, _ = strings.Cut(text, " (")
		text = strings.TrimPrefix(strings.TrimPrefix(text, name+": "), name+" ")
		docs[name] = strings.TrimSuffix(text, ".")
	}
	for _, file := range []string{"rules.go", "../spec/settings/grammar.go"} {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			panic(err)
		}
		kind := ""
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Field:
				if len(n.Names) == 1 && n.Doc != nil {
					sentence(n.Names[0].Name, n.Doc)
				}
			case *ast.ValueSpec:
				if name, typed := n.Type.(*ast.Ident); typed {
					kind = name.Name
				}
				values[kind] = append(values[kind], n.Names[0].Name)
				if n.Doc != nil {
					sentence(n.Names[0].Name, n.Doc)
				}
			}
			return true
		})
	}
	return docs, values
}

// TestEveryRuleIsDocumented: docs/versions.md has a sentence for each rule, and each differs
// between releases.
func TestEveryRuleIsDocumented(t *testing.T) {
	rows := ruleRows()
	for _, row := range rows {
		if row[1] == "" || row[2] == "none" || row[2] == "all" {
			t.Errorf("%s: %q, releases: %s", row[0], row[1], row[2])
		}
	}
	if len(rows) < reflect.TypeFor[Rules]().NumField() {
		t.Errorf("%d rows", len(rows))
	}
}

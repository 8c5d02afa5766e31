package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"gaugeblock/fakegpu/cuda/gpus"
	"gaugeblock/upstream"
)

// completionCommand is "gaugeblock completion".
type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Help is what "gaugeblock completion --help" prints beside the flags.
func (*completionCommand) Help() string {
	return `Commands, flags and some of their values are completed, and elsewhere the names of files. For this shell:

    source <(gaugeblock completion bash)        # or zsh
    gaugeblock completion fish | source

or put the line into ~/.bashrc, ~/.zshrc or ~/.config/fish/config.fish.`
}

// Run prints the script.
func (c *completionCommand) Run(env *environment) error {
	commands := visible(env.parser.Model.Children)
	if c.Shell == "fish" {
		return completeFish(env.stdout, commands)
	}
	return completeBash(env.stdout, commands, c.Shell == "zsh")
}

// visible leaves out what the help does not list.
func visible(nodes []*kong.Node) (list []*kong.Node) {
	for _, n := range nodes {
		if !n.Hidden {
			list = append(list, n)
		}
	}
	return list
}

// completeBash writes a function of bash, which zsh can call as well.
func completeBash(w io.Writer, commands []*kong.Node, zsh bool) error {
	var names []string
	var cases strings.Builder
	for _, c := range commands {
		names = append(names, c.Name)
		fmt.Fprintf(&cases, "    %s) flags=%q ;;\n", c.Name, strings.Join(longFlags(c), " "))
	}
	var values strings.Builder
	for _, v := range flagValues(commands) {
		fmt.Fprintf(&values, "    --%s) COMPREPLY=($(compgen -W %q -- \"$word\")); return ;;\n", v.flag, strings.Join(v.values, " "))
	}
	begin := ""
	if zsh {
		begin = "autoload -U +X bashcompinit && bashcompinit\n"
	}
	_, err := fmt.Fprintf(w, `%s_gaugeblock() {
  local word="${COMP_WORDS[COMP_CWORD]}" flags="--help --version"
  case "${COMP_WORDS[1]}" in
%s  esac
  COMPREPLY=()
  case "${COMP_WORDS[COMP_CWORD-1]}" in
%s  esac
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "%s $flags" -- "$word"))
  elif [[ "$word" == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$word"))
  elif [ "${COMP_WORDS[1]}" = completion ]; then
    COMPREPLY=($(compgen -W "bash zsh fish" -- "$word"))
  elif [ "${COMP_WORDS[1]}" = torch ] && [ "$COMP_CWORD" -eq 2 ]; then
    COMPREPLY=($(compgen -W get -- "$word"))
  fi
}
complete -o default -F _gaugeblock gaugeblock
`, begin, cases.String(), values.String(), strings.Join(names, " "))
	return err
}

// completeFish writes the commands and flags with their descriptions.
func completeFish(w io.Writer, commands []*kong.Node) error {
	var b strings.Builder
	quoted := strings.NewReplacer(`\`, `\\`, `'`, `\'`)
	for _, c := range commands {
		fmt.Fprintf(&b, "complete -c gaugeblock -n __fish_use_subcommand -f -a %s -d '%s'\n", c.Name, quoted.Replace(c.Help))
		for _, flag := range flagsOf(c) {
			words := ""
			for _, v := range flagValues(commands) {
				if v.flag == flag.Name {
					words = fmt.Sprintf(" -x -a '%s'", strings.Join(v.values, " "))
				}
			}
			fmt.Fprintf(&b, "complete -c gaugeblock -n '__fish_seen_subcommand_from %s' -l %s%s -d '%s'\n", c.Name, flag.Name, words, quoted.Replace(flag.Help))
		}
	}
	b.WriteString("complete -c gaugeblock -n '__fish_seen_subcommand_from completion' -f -a 'bash zsh fish'\n")
	b.WriteString("complete -c gaugeblock -n '__fish_seen_subcommand_from torch' -f -a get\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// flagValues are the values of flags that have few: those that are listed here, and those of which a
// command says it.
func flagValues(commands []*kong.Node) []flagValue {
	var releases []string
	for _, r := range upstream.Releases() {
		releases = append(releases, r.Name)
	}
	values := []flagValue{
		{"area", areaNames()},
		{"pytorch", releases},
		{"gpu", gpus.Words()},
		{"level", []string{"safe", "caching", "exact"}},
	}
	for _, c := range commands {
		for _, flag := range flagsOf(c) {
			known := slices.ContainsFunc(values, func(v flagValue) bool { return v.flag == flag.Name })
			if flag.Enum != "" && !known {
				words := strings.FieldsFunc(flag.Enum, func(r rune) bool { return r == ',' || r == ' ' })
				values = append(values, flagValue{flag.Name, words})
			}
		}
	}
	return values
}

type flagValue struct {
	flag   string
	values []string
}

// flagsOf are the flags of a command, or of the one that it is without another word.
func flagsOf(c *kong.Node) []*kong.Flag {
	if c.DefaultCmd != nil {
		return c.DefaultCmd.Flags
	}
	return c.Flags
}

// longFlags are the flags of a command.
func longFlags(c *kong.Node) []string {
	flags := []string{"--help"}
	for _, flag := range flagsOf(c) {
		flags = append(flags, "--"+flag.Name)
		if flag.Tag != nil && flag.Tag.Negatable != "" {
			flags = append(flags, "--no-"+flag.Name)
		}
	}
	return flags
}

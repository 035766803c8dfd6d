package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v3"
)

// ErrUsage is wrapped by errors about arguments.
var ErrUsage = errors.New("wrong arguments")

// Program is what a program says of itself.
type Program struct {
	Name, Description, Version string
	Vars                       kong.Vars
	// UsageOnError prints the usage before the error of wrong arguments.
	UsageOnError bool
}

// Parse fills grammar from the arguments and from the file that --config names, where the grammar has that flag. What the
// command line says wins. It returns nil when --help or --version was answered.
func (p Program) Parse(grammar any, args []string, stdout io.Writer) (*kong.Context, error) {
	exited := false
	vars := kong.Vars{"version": p.Version}
	for k, v := range p.Vars {
		vars[k] = v
	}
	options := []kong.Option{kong.Name(p.Name), kong.Description(p.Description), kong.Writers(stdout, stdout), vars,
		kong.Exit(func(int) { exited = true }), kong.ConfigureHelp(kong.HelpOptions{Compact: true})}
	if p.UsageOnError {
		options = append(options, kong.UsageOnError())
	}
	k, err := kong.New(grammar, options...)
	if err != nil {
		return nil, err
	}
	commands := make([]string, len(k.Model.Children))
	for i, c := range k.Model.Children {
		commands[i] = c.Name
	}
	args = joinBools(k.Model, Dashes(args, commands))
	file, err := fromConfig(args)
	if err != nil {
		return nil, err
	}
	if at := slices.IndexFunc(args, func(a string) bool { return slices.Contains(commands, a) }); at >= 0 && len(file) > 0 {
		// behind the command, before what the command line says
		args = slices.Concat(args[:at+1], ofCommand(k.Model, args[at], file), args[at+1:])
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	ctx, err := k.Parse(args)
	if exited {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, ErrUsage)
	}
	return ctx, nil
}

// joinBools takes --flag true and --flag false, as Flink's actions are called, for --flag=true and --flag=false.
func joinBools(model *kong.Application, args []string) []string {
	bools := map[string]bool{}
	for _, n := range append([]*kong.Node{model.Node}, model.Children...) {
		for _, f := range n.Flags {
			bools["--"+f.Name] = f.IsBool()
		}
	}
	var out []string
	for _, a := range args {
		if n := len(out); n > 0 && bools[out[n-1]] && (a == "true" || a == "false") {
			out[n-1] += "=" + a
			continue
		}
		out = append(out, a)
	}
	return out
}

// ofCommand leaves out what only other commands have, so that one file serves all of them. What none has stays, and is refused.
func ofCommand(model *kong.Application, command string, file []string) []string {
	has := map[string]bool{}
	elsewhere := map[string]bool{}
	for _, n := range model.Children {
		for _, f := range n.Flags {
			if n.Name == command {
				has["--"+f.Name] = true
			} else {
				elsewhere["--"+f.Name] = true
			}
		}
	}
	return slices.DeleteFunc(file, func(arg string) bool {
		flag, _, _ := strings.Cut(arg, "=")
		return elsewhere[flag] && !has[flag]
	})
}

// Dashes turns the underscores of commands and of argument names into dashes.
func Dashes(args, commands []string) []string {
	out := slices.Clone(args)
	for i, a := range out {
		name, value, has := strings.Cut(a, "=")
		dashed := strings.ReplaceAll(name, "_", "-")
		if !strings.HasPrefix(a, "--") && !slices.Contains(commands, dashed) {
			continue
		}
		if has {
			dashed += "=" + value
		}
		out[i] = dashed
	}
	return out
}

// fromConfig turns the file of --config into arguments.
func fromConfig(args []string) ([]string, error) {
	path := ""
	for i, a := range args {
		if v, ok := strings.CutPrefix(a, "--config="); ok {
			path = v
		} else if a == "--config" && i+1 < len(args) {
			path = args[i+1]
		}
	}
	if path == "" {
		return nil, nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--config: %w: %w", err, ErrUsage)
	}
	var doc map[string]any
	if err := yaml.Unmarshal(b, &doc); err != nil {
		return nil, fmt.Errorf("--config %s: %w: %w", path, err, ErrUsage)
	}
	var out []string
	for _, name := range sortedKeys(doc) {
		flag := "--" + strings.ReplaceAll(name, "_", "-")
		switch v := doc[name].(type) {
		case map[string]any:
			for _, k := range sortedKeys(v) {
				out = append(out, fmt.Sprintf("%s=%s=%v", flag, k, v[k]))
			}
		case []any:
			for _, x := range v {
				out = append(out, fmt.Sprintf("%s=%v", flag, x))
			}
		case nil:
		default:
			out = append(out, fmt.Sprintf("%s=%v", flag, v))
		}
	}
	return out, nil
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// Pairs reads repeated key=value arguments; the last of a key wins.
func Pairs(flag string, list []string) (map[string]string, error) {
	m := map[string]string{}
	for _, kv := range list {
		k, v, ok := strings.Cut(kv, "=")
		if k = strings.TrimSpace(k); !ok || k == "" {
			return nil, fmt.Errorf("--%s %q is not key=value: %w", flag, kv, ErrUsage)
		}
		m[k] = v
	}
	return m, nil
}

// Names reads a comma list.
func Names(list string) []string {
	var out []string
	for n := range strings.SplitSeq(list, ",") {
		if n = strings.TrimSpace(n); n != "" {
			out = append(out, n)
		}
	}
	return out
}

package hdfs

import (
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"

	"github.com/paimon-go/paimon-go/fs"
)

var errConfig error = configError{}

// configError is what fs.ErrConfig is here, in fewer words.
type configError struct{}

func (configError) Error() string        { return "configuration" }
func (configError) Is(target error) bool { return target == fs.ErrConfig }

// settings are Hadoop's properties, with ${…} as in the files.
type settings map[string]string

// loadSettings reads Hadoop's files where Paimon does, later ones over earlier ones: HADOOP_HOME/conf, HADOOP_HOME/etc/hadoop,
// HADOOP_CONF_DIR, the option hadoop-conf-dir; then options that begin with "hadoop.", without that prefix. hadoop-conf-loader limits
// it to env or option. Options that begin with "dfs." or "fs." count as Hadoop's too, which Java does not do.
func loadSettings(conf map[string]string, getenv func(string) string) (settings, error) {
	s := settings{}
	loader := strings.ToLower(conf["hadoop-conf-loader"])
	switch loader {
	case "", "all", "env", "option":
	default:
		return nil, fmt.Errorf("%w: hadoop-conf-loader is %q, it can be all, env or option", errConfig, loader)
	}
	if loader != "option" {
		if home := strings.TrimSpace(getenv("HADOOP_HOME")); home != "" {
			for _, sub := range []string{"conf", "etc/hadoop"} {
				if err := s.addDir(filepath.Join(home, sub)); err != nil {
					return nil, err
				}
			}
		}
		if dir := strings.TrimSpace(getenv("HADOOP_CONF_DIR")); dir != "" {
			if err := s.addDir(dir); err != nil {
				return nil, err
			}
		}
	}
	if dir := optionDir(conf); dir != "" && loader != "env" {
		if st, err := os.Stat(dir); err != nil {
			return nil, fmt.Errorf("%w: hadoop-conf-dir: %w", errConfig, err)
		} else if !st.IsDir() {
			return nil, fmt.Errorf("%w: hadoop-conf-dir: %s is a file, not a directory", errConfig, dir)
		}
		if err := s.addDir(dir); err != nil {
			return nil, err
		}
	}
	for k, v := range conf {
		if strings.HasPrefix(k, "dfs.") || strings.HasPrefix(k, "fs.") {
			s[k] = v
		}
	}
	for k, v := range conf {
		if rest, ok := strings.CutPrefix(k, "hadoop."); ok {
			s[rest] = v
		}
	}
	return s, nil
}

// optionDir is the directory that the option hadoop-conf-dir names.
func optionDir(conf map[string]string) string {
	return strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(conf["hadoop-conf-dir"]), "file://"), "file:")
}

// Doubts says which places of settings are named in catalog options or in the environment and give none. A directory of
// the options that does not exist is an error, and not told here.
func Doubts(conf map[string]string) []string {
	loader := strings.ToLower(conf["hadoop-conf-loader"])
	var out []string
	doubt := func(name, dir string) {
		if dir == "" || slices.ContainsFunc(confFiles[:2], func(file string) bool { _, err := os.Stat(filepath.Join(dir, file)); return err == nil }) {
			return
		}
		if _, err := os.Stat(dir); err != nil {
			out = append(out, fmt.Sprintf("%s=%s gives no settings: there is no such directory", name, dir))
			return
		}
		out = append(out, fmt.Sprintf("%s=%s gives no settings: there is neither core-site.xml nor hdfs-site.xml in it", name, dir))
	}
	if loader != "option" {
		doubt("HADOOP_CONF_DIR", strings.TrimSpace(os.Getenv("HADOOP_CONF_DIR")))
	}
	if dir := optionDir(conf); loader != "env" {
		if _, err := os.Stat(dir); err == nil {
			doubt("hadoop-conf-dir", dir)
		}
	}
	return out
}

var confFiles = []string{"core-site.xml", "hdfs-site.xml", "mapred-site.xml"}

func (s settings) addDir(dir string) error {
	for _, name := range confFiles {
		path := filepath.Join(dir, name)
		b, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("%w: %w", errConfig, err)
		}
		if err := s.addXML(b); err != nil {
			return fmt.Errorf("%w: %s: %w", errConfig, path, err)
		}
	}
	return nil
}

// addXML reads <property> elements. As in Paimon, empty values don't count.
func (s settings) addXML(b []byte) error {
	var doc struct {
		Property []struct {
			Name  string `xml:"name"`
			Value string `xml:"value"`
		} `xml:"property"`
		Include []struct {
			Href string `xml:"href,attr"`
		} `xml:"http://www.w3.org/2001/XInclude include"`
	}
	if err := xml.Unmarshal(b, &doc); err != nil {
		return err
	}
	if len(doc.Include) > 0 {
		return fmt.Errorf("includes %s: includes are not followed, put the properties into the file", doc.Include[0].Href)
	}
	for _, p := range doc.Property {
		name := strings.TrimSpace(p.Name)
		if name != "" && strings.TrimSpace(p.Value) != "" {
			s[name] = p.Value
		}
	}
	return nil
}

// get returns a property with its variables replaced, "" if it isn't set.
func (s settings) get(name string) string { return strings.TrimSpace(s.expand(s[name])) }

// expand replaces ${name} by the environment for env.NAME, the user for user.name, or another property, at most 20 times as Java
// does. What isn't known stays.
func (s settings) expand(v string) string {
	for range 20 {
		start, end := innermost(v)
		if start < 0 {
			return v
		}
		r, ok := s.variable(v[start+2 : end])
		if !ok {
			return v
		}
		v = v[:start] + r + v[end+1:]
	}
	return v
}

// innermost finds a ${…} without another one in it.
func innermost(v string) (start, end int) {
	end = -1
	for from := 0; ; from = end + 1 {
		i := strings.IndexByte(v[from:], '}')
		if i < 0 {
			return -1, -1
		}
		end = from + i
		if start = strings.LastIndex(v[:end], "${"); start >= from && end > start+2 {
			return start, end
		}
	}
}

func (s settings) variable(name string) (string, bool) {
	if env, ok := strings.CutPrefix(name, "env."); ok {
		return environment(env)
	}
	if name == "user.name" {
		u, err := user.Current()
		if err != nil {
			return "", false
		}
		return u.Username, true
	}
	v, ok := s[name]
	return v, ok
}

// environment knows NAME, NAME-default (if unset) and NAME:-default (if unset or empty).
func environment(name string) (string, bool) {
	name, fallback, has := strings.Cut(name, "-")
	name, orEmpty := strings.CutSuffix(name, ":")
	v, ok := os.LookupEnv(name)
	if has && (!ok || (orEmpty && v == "")) {
		return fallback, true
	}
	return v, ok
}

func (s settings) bool(name string) bool { return strings.EqualFold(s.get(name), "true") }

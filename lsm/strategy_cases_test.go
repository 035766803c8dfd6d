package lsm

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/table"
)

var updateStrategy = flag.Bool("update-strategy", false, "write what the strategy picks into testdata/strategy")

// TestStrategyCases runs the cases of testdata/strategy. A case is
//
//	# what it shows
//	pick                  the command: pick or full, and perhaps hour=3, force, expired=a,b
//	option=value
//	0: a:10 b:20          a level's files and their sizes; level 0 newest first, the others in key order
//	5: c:100:90m          a file may have an age; it is an hour otherwise
//	----
//	size ratio: a b -> 4  why, what, the output level
func TestStrategyCases(t *testing.T) {
	paths, err := filepath.Glob("testdata/strategy/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			cases := strings.Split(strings.TrimSpace(string(text)), "\n\n")
			for i, c := range cases {
				in, want, ok := strings.Cut(c, "\n----")
				require.True(t, ok || *updateStrategy, "a case without ---- in %s:\n%s", path, c)
				got := runStrategyCase(t, in)
				if *updateStrategy {
					cases[i] = in + "\n----\n" + got
					continue
				}
				require.Equal(t, strings.TrimSpace(want), got, in)
			}
			if *updateStrategy {
				require.NoError(t, os.WriteFile(path, []byte(strings.Join(cases, "\n\n")+"\n"), 0o644))
			}
		})
	}
}

func runStrategyCase(t *testing.T, in string) string {
	now := time.Date(2024, 5, 17, 12, 0, 0, 0, time.UTC)
	options := table.Options{}
	var command []string
	var files []table.DataFile
	for line := range strings.Lines(in) {
		line = strings.TrimSpace(line)
		level, list, isLevel := strings.Cut(line, ":")
		key, value, isOption := strings.Cut(line, "=")
		switch {
		case strings.HasPrefix(line, "#"):
		case command == nil:
			command = strings.Fields(line)
		case isOption:
			options[key] = value
		case isLevel:
			n, err := strconv.Atoi(level)
			require.NoError(t, err, line)
			for _, f := range strings.Fields(list) {
				files = append(files, caseFile(t, f, n, len(files), now))
			}
		default:
			require.Fail(t, "neither option nor level", line)
		}
	}
	levels, err := NewLevels(files, intSchema(t), options)
	require.NoError(t, err, in)
	s, err := NewStrategy(options)
	if err != nil {
		return err.Error()
	}
	st := PickState{Levels: levels, Now: now}
	var expired string
	for _, arg := range command[1:] {
		key, value, _ := strings.Cut(arg, "=")
		switch key {
		case "hour":
			hour, err := strconv.Atoi(value)
			require.NoError(t, err, arg)
			st.Now = time.Date(2024, 5, 17, hour, 0, 0, 0, time.UTC)
		case "force":
			st.ForceUp = true
		case "expired":
			expired = "," + value + ","
		default:
			require.Fail(t, "no such argument", arg)
		}
	}
	if command[0] == "pick" {
		return unitText(s.Pick(st))
	}
	require.Equal(t, "full", command[0])
	return unitText(s.PickFull(st, func(f *table.DataFile) bool { return strings.Contains(expired, ","+f.Name+",") }))
}

// caseFile reads name:size or name:size:age. The files of a level lie in their order on the key axis.
func caseFile(t *testing.T, text string, level, n int, now time.Time) table.DataFile {
	parts := strings.Split(text, ":")
	require.GreaterOrEqual(t, len(parts), 2, text)
	size, err := strconv.ParseInt(parts[1], 10, 64)
	require.NoError(t, err, text)
	age := time.Hour
	if len(parts) == 3 {
		age, err = time.ParseDuration(parts[2])
		require.NoError(t, err, text)
	}
	f := withSeq(keyedFile(parts[0], level, size, 10*n, 10*n+5), int64(1000-n), int64(1000-n))
	f.CreationMillis = now.Add(-age).UnixMilli()
	return f
}

func unitText(u Unit, ok bool) string {
	if !ok {
		return "nothing"
	}
	text := u.Reason + ":"
	for _, f := range u.Files {
		text += " " + f.Name
	}
	text += fmt.Sprintf(" -> %d", u.OutputLevel)
	if !u.DropDelete {
		text += ", keeps deletes"
	}
	if u.FileRewrite {
		text += ", file by file"
	}
	return text
}

package cli

import (
	"io"
	"log/slog"
)

// LogArgs are the arguments about logging.
type LogArgs struct {
	LogLevel  string `name:"log-level" default:"info" enum:"debug,info,warn,error" help:"debug, info, warn or error."`
	LogFormat string `name:"log-format" default:"text" enum:"text,json" help:"text or json."`
}

// Logger returns the log that the arguments ask for.
func (a LogArgs) Logger(w io.Writer) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(a.LogLevel)) // the enum has checked it
	o := &slog.HandlerOptions{Level: level}
	if a.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}

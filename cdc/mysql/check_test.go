package mysql

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/cdc"
)

func TestCheckVariables(t *testing.T) {
	good := map[string]string{"log_bin": "ON", "binlog_format": "ROW", "binlog_row_image": "FULL", "gtid_mode": "ON",
		"binlog_row_metadata": "FULL", "binlog_expire_logs_seconds": "604800", "log_replica_updates": "ON"}
	for _, c := range []struct {
		name, value string
		fatal       bool
		what        string
	}{
		{"log_bin", "OFF", true, "no binary log"},
		{"binlog_format", "STATEMENT", true, "binlog_format is STATEMENT"},
		{"binlog_row_image", "MINIMAL", true, "binlog_row_image is MINIMAL"},
		{"binlog_row_value_options", "PARTIAL_JSON", true, "PARTIAL_JSON"},
		{"log_replica_updates", "OFF", true, "log_replica_updates"},
		{"gtid_mode", "OFF", false, "gtid_mode is OFF"},
		{"binlog_row_metadata", "MINIMAL", false, "binlog_row_metadata"},
		{"binlog_expire_logs_seconds", "3600", false, "1.0 hours"},
	} {
		s := &server{flavor: flavorMySQL, vars: map[string]string{}}
		for k, v := range good {
			s.vars[k] = v
		}
		require.Empty(t, checkVariables(s, true))
		s.vars[c.name] = c.value
		fs := checkVariables(s, true)
		require.Len(t, fs, 1, c.name)
		require.Equal(t, c.fatal, fs[0].Fatal, c.name)
		require.Contains(t, fs[0].What, c.what)
		require.NotEmpty(t, fs[0].Remedy)
		require.ErrorIs(t, fs[0].Err("host"), cdc.ErrSource)
	}
}

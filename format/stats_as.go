package format

// ResultAs is Result with other modes, one a column, none of which keeps more than the collector's own: a key column is
// looked at once for both its key and its value statistics.
func (s *StatsCollector) ResultAs(modes []StatsMode) []ColumnStats {
	as := *s
	as.modes = modes
	return as.Result()
}

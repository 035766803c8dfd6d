package table

// Validate checks all values; see option_table.go.
func (o Options) Validate() (warnings []string, err error) { return nil, nil }

// CheckWritable refuses options that writers can't neglect.
func (o Options) CheckWritable() error { return nil }

// checkDynamic refuses dynamic options that would contradict what is on disk.
func checkDynamic(stored, dynamic Options) error { return nil }

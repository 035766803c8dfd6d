package lsm

import (
	"cmp"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/table"
)

// BenchmarkMergeEngines folds keys of three records with ten columns each; ns/op is for one record.
func BenchmarkMergeEngines(b *testing.B) {
	columns := []string{"g INT"}
	aggregated := table.Options{"merge-engine": "aggregation", "fields.default-aggregate-function": "sum"}
	grouped := table.Options{"merge-engine": "partial-update", "fields.g.sequence-group": "v0,v1,v2,s0,s1"}
	for i := range 5 {
		columns = append(columns, fmt.Sprintf("v%d BIGINT", i), fmt.Sprintf("s%d STRING", i))
		aggregated[fmt.Sprintf("fields.s%d.aggregate-function", i)] = []string{"last_value", "max", "listagg"}[i%3]
	}
	line := `{"k":1,"g":%d,"v0":1,"s0":"some text","v1":2,"s1":"other text","v2":3,"s2":"abc","v3":4,"s3":null,"v4":null,"s4":"x"}`
	for _, o := range []table.Options{
		{}, {"merge-engine": "first-row"}, {"merge-engine": "partial-update"}, grouped, aggregated,
	} {
		name := cmp.Or(o["merge-engine"], "deduplicate")
		if o["fields.g.sequence-group"] != "" {
			name += ", group"
		}
		b.Run(name, func(b *testing.B) {
			s := keyed(b, o, columns...)
			kv := records(b, s, fmt.Sprintf(line, 1), fmt.Sprintf(line, 3), fmt.Sprintf(line, 2))
			merge, err := NewMergeFunc(s, o)
			require.NoError(b, err)
			out := NewKeyValues(s.RowType())
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if i%3 == 0 {
					merge.Reset()
				}
				if err := merge.Add(kv, i%3); err != nil {
					b.Fatal(err)
				}
				if i%3 == 2 {
					if err := merge.Result(out); err != nil {
						b.Fatal(err)
					}
					if out.Len() == 1000 {
						out.Reset()
					}
				}
			}
		})
	}
}

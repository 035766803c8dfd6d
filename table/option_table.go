package table

// keys is the table of all option keys, in the order of the docs page.
var keys []*Key

func define(k Key) *Key {
	keys = append(keys, &k)
	return &k
}

// Keys of table and buckets.
var (
	KeyBucket        = define(Key{Name: "bucket", Kind: Int, Default: "-1", Doc: "Number of buckets"})
	KeyBucketKey     = define(Key{Name: "bucket-key"})
	KeyPartition     = define(Key{Name: "partition"})
	KeyPrimaryKey    = define(Key{Name: "primary-key"})
	KeyFileFormat    = define(Key{Name: "file.format", Default: "parquet"})
	KeySequenceField = define(Key{Name: "sequence.field"})
)

package table

// Validate checks the schema as Java's SchemaValidation.
func (s *Schema) Validate() error { return s.checkShape() }

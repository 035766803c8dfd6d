package table

// ForgetManifestFile returns the path of a manifest, a manifest list or an index manifest that is about to be removed, and
// forgets what is remembered of it.
func (t *Table) ForgetManifestFile(name string) string {
	t.meta.drop(name)
	return t.manifestPath(name)
}

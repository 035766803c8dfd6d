package table

import "strconv"

// nextIndex names an index manifest. Java counts them by themselves; the name is as unique with the counter of manifests.
func (n *fileNames) nextIndex() string {
	return "index-manifest-" + n.uuid + "-" + strconv.FormatInt(n.manifest.Add(1)-1, 10)
}

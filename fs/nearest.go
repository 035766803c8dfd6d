package fs

import "strings"

// Nearest returns which of the known names somebody may have meant who wrote another one, "" if it resembles none. Dots, dashes and
// underscores are taken for each other.
func Nearest(name string, known []string) string {
	same := strings.NewReplacer("_", "-", ".", "-")
	name = same.Replace(strings.ToLower(name))
	best, least := "", max(len(name)/4, 1)+1
	for _, k := range known {
		if d := distance(name, same.Replace(k)); d < least {
			best, least = k, d
		}
	}
	return best
}

// distance is how many bytes must be put in, left out or replaced.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := before
			if a[i] != b[j] {
				d = 1 + min(before, row[j], row[j+1])
			}
			before, row[j+1] = row[j+1], d
		}
	}
	return row[len(b)]
}

package settings

// KeysOf are the keys that a settings string names, whether a release has them or not.
func KeysOf(settings string) (names []string) {
	depth, begins := 0, true
	for _, t := range lexSettings(settings) {
		switch t.kind {
		case '[':
			depth++
		case ']':
			depth--
		case wordToken:
			if begins {
				names = append(names, t.text)
			}
		}
		begins = t.kind == ',' && depth <= 0
	}
	return names
}

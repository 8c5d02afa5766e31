package instrument

import "maps"

// Changed type-checks a package of the module in which one file has another text.
// It returns a function, so that what the package imports is read once for many changes.
func Changed(root, pkg string) (check func(file, text string) error, err error) {
	s, err := load(root, pkg)
	if err != nil {
		return nil, err
	}
	return func(file, text string) error {
		changed := *s
		changed.texts = maps.Clone(s.texts)
		changed.texts[file] = text
		return changed.check()
	}, nil
}

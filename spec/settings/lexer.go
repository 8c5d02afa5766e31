package settings

// The words and marks that a settings string is made of. White space separates
// nothing: it is dropped wherever it stands, inside a word as well, so that
// "max_split_size_mb: 1 0 0" means 100.

// tokenKind is a mark itself (',' ':' '[' ']'), or one of the two below.
type tokenKind byte

const (
	endToken  tokenKind = 0
	wordToken tokenKind = 'w'
)

// token is a piece of a settings string.
type token struct {
	kind   tokenKind
	text   string // without white space; empty at the end
	offset int    // of its first byte in the string
}

// lexSettings cuts a string into tokens. The last one is the endToken; no token
// but that one is empty.
func lexSettings(settings string) []token {
	var tokens []token
	var word []byte
	var start int
	endWord := func() {
		if len(word) > 0 {
			tokens = append(tokens, token{wordToken, string(word), start})
			word = word[:0]
		}
	}
	for i := range len(settings) {
		switch ch := settings[i]; ch {
		case ' ', '\t', '\n', '\v', '\f', '\r': // isspace in the C locale
		case ',', ':', '[', ']':
			endWord()
			tokens = append(tokens, token{tokenKind(ch), string(ch), i})
		default:
			if len(word) == 0 {
				start = i
			}
			word = append(word, ch)
		}
	}
	endWord()
	return append(tokens, token{endToken, "", len(settings)})
}

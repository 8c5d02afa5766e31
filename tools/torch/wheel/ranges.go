package wheel

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// ranges reads a file over HTTP in blocks, each fetched once: zip files are read from their end,
// where the list of their members is.
type ranges struct {
	ctx    context.Context
	url    string
	size   int64
	blocks map[int64][]byte
}

const blockBytes = 1 << 20

// newRanges asks for the size of the file; the server must take requests for ranges.
func newRanges(ctx context.Context, url string) (*ranges, error) {
	if !strings.HasPrefix(url, "https://") && !strings.HasPrefix(url, "http://") {
		return nil, fmt.Errorf("%q is not read over HTTP", url)
	}
	r := &ranges{ctx: ctx, url: url, blocks: map[int64][]byte{}}
	response, err := r.ask(0, 1)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if _, err := fmt.Sscanf(response.Header.Get("Content-Range"), "bytes 0-0/%d", &r.size); err != nil {
		return nil, fmt.Errorf("the server does not say how long the wheel is: %w", err)
	}
	return r, nil
}

// ask asks for bytes of the file.
func (r *ranges) ask(from, to int64) (*http.Response, error) {
	request, err := http.NewRequestWithContext(r.ctx, http.MethodGet, r.url, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", from, to-1))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusPartialContent {
		response.Body.Close()
		return nil, fmt.Errorf("the server does not serve parts of the wheel: %s", response.Status)
	}
	return response, nil
}

// ReadAt implements io.ReaderAt.
func (r *ranges) ReadAt(p []byte, at int64) (n int, err error) {
	for n < len(p) {
		if at >= r.size {
			return n, io.EOF
		}
		block, err := r.block(at / blockBytes)
		if err != nil {
			return n, err
		}
		did := copy(p[n:], block[at%blockBytes:])
		n, at = n+did, at+int64(did)
	}
	return n, nil
}

func (r *ranges) block(i int64) ([]byte, error) {
	if block, is := r.blocks[i]; is {
		return block, nil
	}
	from, to := i*blockBytes, min((i+1)*blockBytes, r.size)
	response, err := r.ask(from, to)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	block := make([]byte, to-from)
	if _, err := io.ReadFull(response.Body, block); err != nil {
		return nil, fmt.Errorf("a part of the wheel: %w", err)
	}
	r.blocks[i] = block
	return block, nil
}

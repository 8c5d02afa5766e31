package explore

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc64"
	"io"
	"os"
)

// A sealed file is a short text, and after it a line with its checksum. It is never there in part.

// longestSealed is more than any of them has, in bytes.
const longestSealed = 1 << 20

func seal(text []byte) string { return fmt.Sprintf("\n%016x\n", crc64.Checksum(text, checksums)) }

// writeSealed writes a file in the place of one that is there.
func writeSealed(path string, text []byte) error {
	file, err := openRegular(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	_, err = io.WriteString(file, string(text)+seal(text))
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// readSealed reads a file, and reports whether its checksum is right.
func readSealed(path string) (text []byte, sealed bool, err error) {
	file, err := openRegular(path, os.O_RDONLY)
	if err != nil {
		return nil, false, err
	}
	defer file.Close()
	text, err = io.ReadAll(io.LimitReader(file, longestSealed))
	if err != nil {
		return nil, false, err
	}
	body := text[:max(0, len(text)-len(seal(nil)))]
	return body, bytes.Equal(text[len(body):], []byte(seal(body))), nil
}

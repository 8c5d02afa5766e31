// Package cache says where what was fetched or built is kept for the next time.
package cache

import (
	"fmt"
	"os"
	"path/filepath"
)

// Folder is GAUGEBLOCK_CACHE, or else the folder gaugeblock of the user's cache. It need not be there.
func Folder() (string, error) {
	if dir := os.Getenv("GAUGEBLOCK_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("there is no folder for a cache (set GAUGEBLOCK_CACHE): %w", err)
	}
	return filepath.Join(dir, "gaugeblock"), nil
}

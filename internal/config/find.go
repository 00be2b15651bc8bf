package config

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/hocket-run/hocket/diag"
)

// Name is the file name of the configuration.
const Name = "hocket.yaml"

// MaxBytes is the maximum size of the file (SEC17).
const MaxBytes = 1 << 20

// Find returns the path of the configuration: flag if it is not empty, else HOCKET_CONFIG, else
// hocket.yaml in HOCKET_HOME, else in the directory "hocket" of XDG_CONFIG_HOME or ~/.config. named
// is set if the file itself was named, so that it must exist. The working directory is never
// searched: a cloned repository must not configure Hocket. If there is no home directory, the path
// is "".
func Find(flag string, env func(string) string) (path string, named bool) {
	if flag != "" {
		return flag, true
	}
	if file := env("HOCKET_CONFIG"); file != "" {
		return file, true
	}
	if home := env("HOCKET_HOME"); home != "" {
		return filepath.Join(home, Name), false
	}
	if folder := env("XDG_CONFIG_HOME"); filepath.IsAbs(folder) {
		return filepath.Join(folder, "hocket", Name), false
	}
	home := env("HOME")
	if runtime.GOOS == "windows" {
		home = cmp.Or(home, env("USERPROFILE"))
	}
	if filepath.IsAbs(home) {
		return filepath.Join(home, ".config", "hocket", Name), false
	}
	return "", false
}

// Load finds and reads the configuration. If a default file does not exist, the Config is empty,
// including its Path.
//
// The list contains the problems of the file; the error is for a file that cannot be read.
func Load(flag string, env func(string) string) (*Config, diag.List, error) {
	path, named := Find(flag, env)
	if path == "" {
		return &Config{}, nil, nil
	}
	data, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) && !named {
		return &Config{}, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, nil, fmt.Errorf("read configuration: %w", err)
	}
	c, problems := Read(path, data)
	return c, problems, nil
}

func readFile(path string) ([]byte, error) {
	// opening a pipe would block until there is a writer
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		return nil, fmt.Errorf("read configuration: %s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("the configuration is larger than the limit of %d bytes (max_config_bytes)", MaxBytes)
	}
	return data, nil
}

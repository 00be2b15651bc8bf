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

// Name is the name of the file in its folders.
const Name = "hocket.yaml"

// MaxBytes bounds the file (SEC17).
const MaxBytes = 1 << 20

// Find tells where the configuration is: flag where it is not empty, else HOCKET_CONFIG, else hocket.yaml in HOCKET_HOME, else in the folder
// hocket of XDG_CONFIG_HOME or ~/.config. named says that the file itself was named, so that it must be there. The working directory is never
// looked into: a cloned repository must not configure Hocket. "" where there is no home folder.
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

// Load finds and reads the configuration. Where a default file is not there the Config is empty, and its Path too.
//
// The list has what is wrong in the file; the error is for a file that cannot be read.
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
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() { // opening a pipe would wait for a writer
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
		return nil, fmt.Errorf("read configuration: %s is larger than the limit of %d bytes (max_config_bytes)", path, MaxBytes)
	}
	return data, nil
}

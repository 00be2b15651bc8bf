package files

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

// Limits of the result of one call.
const (
	maxTextBytes = 128 << 10 // text per result
	maxFiles     = 50        // per call of read_multiple_files
	sniffBytes   = 8000      // to tell text from binary data
)

// Amounts of work after which a call checks its context.
const (
	maxRead    = 64 << 10 // bytes per read
	maxPiece   = 1024     // folder entries per read
	checkEvery = 64       // patterns between two checks
)

// open opens a regular file for reading; reads fail once ctx is done.
func (c call) open(ctx context.Context, name string) (file, os.FileInfo, error) {
	f, err := c.openPlain(name)
	if err != nil {
		return file{}, nil, err
	}
	st, err := f.Stat()
	switch {
	case err != nil:
	case st.IsDir():
		err = refuse("%q is a folder; list_directory lists it", name)
	case !st.Mode().IsRegular():
		err = refuse("%q is not a regular file", name)
	default:
		err = c.guard(name, st)
	}
	if err != nil {
		_ = f.Close()
		return file{}, nil, err
	}
	return file{ctx, f}, st, nil
}

// file is a file that is read in pieces; reads fail once ctx is done.
type file struct {
	ctx context.Context
	f   *os.File
}

func (f file) Read(b []byte) (int, error) {
	if err := f.ctx.Err(); err != nil {
		return 0, err
	}
	return f.f.Read(b[:min(len(b), maxRead)])
}

func (f file) Close() error { return f.f.Close() }

type readArgs struct {
	Path   string `json:"path"`
	Offset int    `json:"offset"`
	Limit  int    `json:"limit"`
}

func readFile(ctx context.Context, c call, a readArgs) (string, error) {
	name, err := c.reach("path", a.Path)
	if err != nil {
		return "", err
	}
	return c.read(ctx, name, a.Offset, a.Limit, maxTextBytes)
}

// read returns the lines of a file starting at offset, which counts from 1; 0 means the first line.
// A limit of 0 means as many lines as maxBytes allows. The result states what was left out.
func (c call) read(ctx context.Context, name string, offset, limit, maxBytes int) (string, error) {
	f, st, err := c.open(ctx, name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	br := bufio.NewReaderSize(f, 64<<10)
	head, err := br.Peek(sniffBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	if bytes.IndexByte(head, 0) >= 0 {
		return fmt.Sprintf("[%s is not a text file: %d bytes of %s]", name, st.Size(), http.DetectContentType(head)),
			nil
	}
	first, line := max(offset, 1), 1
	var b strings.Builder
	var more string
	for ; ; line++ {
		want := line >= first
		if want && limit > 0 && line >= first+limit {
			if _, err := br.Peek(1); err == nil {
				more = fmt.Sprintf("lines from %d on are left out; continue with offset %d", line, line)
			}
			break
		}
		text, whole, err := readLine(br, want, maxBytes-b.Len())
		if !whole {
			if b.Len() > 0 {
				more = fmt.Sprintf("lines from %d on are left out, since an answer has at most %d bytes; continue "+
					"with offset %d", line, maxBytes, line)
			} else {
				b.Write(text)
				more = fmt.Sprintf("line %d is longer than the %d bytes of an answer; the rest of it and of the file "+
					"is left out", line, maxBytes)
			}
			break
		}
		b.Write(text)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", err
		}
	}
	switch {
	case more != "":
		return strings.TrimSuffix(b.String(), "\n") + fmt.Sprintf("\n[%s; the file has %d bytes]", more, st.Size()), nil
	case b.Len() == 0 && st.Size() > 0:
		return fmt.Sprintf("[%s has no line %d]", name, first), nil
	}
	return b.String(), nil
}

// readLine reads a line including its end. It keeps at most room bytes, and only if want is set;
// whole reports whether that was the complete line.
func readLine(br *bufio.Reader, want bool, room int) (text []byte, whole bool, err error) {
	for {
		part, err := br.ReadSlice('\n')
		if want {
			take := min(len(part), max(0, room-len(text)))
			text = append(text, part[:take]...)
			if take < len(part) {
				return text, false, nil
			}
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return text, true, err
		}
	}
}

type readManyArgs struct {
	Paths []string `json:"paths"`
}

func readFiles(ctx context.Context, c call, a readManyArgs) (string, error) {
	if len(a.Paths) > maxFiles {
		return "", refuse("%d files are more than the limit of %d for one call", len(a.Paths), maxFiles)
	}
	var b strings.Builder
	for _, p := range a.Paths {
		fmt.Fprintf(&b, "=== %s ===\n", p)
		room := maxTextBytes - b.Len()
		if room <= 0 {
			b.WriteString("[left out: the answer is full; read this file separately]\n")
			continue
		}
		name, err := c.reach("paths", p)
		text := ""
		if err == nil {
			text, err = c.read(ctx, name, 0, 0, room)
		}
		if err != nil {
			if ctx.Err() != nil {
				return "", ctx.Err()
			}
			r, failed := report("read_multiple_files", err)
			text = "[" + cmp.Or(r.Text, fmt.Sprint(failed)) + "]"
		}
		b.WriteString(strings.TrimSuffix(text, "\n") + "\n")
	}
	return b.String(), nil
}

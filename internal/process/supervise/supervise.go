package supervise

import (
	"strconv"
	"strings"
)

// Name is the first argument that tells an executable that it was started as a supervisor; the
// second is the process id of the process that started it. Comm is the name that the process then
// uses, of at most 15 bytes, until it has reported processes that it may not kill.
const (
	Name   = "hocket-supervisor"
	Comm   = "hocket-superv"
	gaveUp = "hocket-gave-up"
)

// Messages on the socket. A supervisor reads a [Program] and then one-byte commands; it replies
// with messages.
const (
	CmdTerminate = 't' // SIGTERM to the program's process group
	CmdKill      = 'k' // SIGKILL to all descendants

	MsgStarted = 'S' // process id, 0
	MsgFailed  = 'F' // errno, 0
	MsgEnded   = 'X' // wait status, number of descendants that could not be killed

	// ControlFD is the descriptor of the supervisor's end of the socket pair.
	ControlFD = 3
)

// Program is a program to be started, as read by a supervisor.
type Program struct {
	// Path is the executable file, absolute or relative to Dir. Argv is its arguments, starting
	// with its name.
	Path string
	Argv []string
	// Dir is the working directory; "" means the directory of this process. Env is the whole
	// environment, as `NAME=value`.
	Dir string
	Env []string
}

// Encode returns the bytes to send. It reports false if a string contains NUL, which cannot be
// passed to a program.
func (p Program) Encode() ([]byte, bool) {
	fields := append([]string{p.Path, p.Dir, strconv.Itoa(len(p.Argv))}, p.Argv...)
	fields = append(fields, p.Env...)
	for _, f := range fields {
		if strings.ContainsRune(f, 0) {
			return nil, false
		}
	}
	text := strings.Join(fields, "\x00")
	return append(appendUint32(nil, uint32(len(text))), text...), true
}

// Decode is the inverse of Encode, without the length. It reports false for text that Encode did
// not produce.
func Decode(text string) (p Program, ok bool) {
	f := strings.Split(text, "\x00")
	if len(f) < 4 {
		return p, false
	}
	n, err := strconv.Atoi(f[2])
	if err != nil || n < 1 || n > len(f)-3 {
		return p, false
	}
	return Program{Path: f[0], Dir: f[1], Argv: f[3 : 3+n], Env: f[3+n:]}, true
}

// Message is a reply of a supervisor.
type Message struct {
	Kind byte
	A, B uint32
}

// MessageBytes is the length of a Message.
const MessageBytes = 9

// Encode returns the bytes to send.
func (m Message) Encode() []byte { return appendUint32(appendUint32([]byte{m.Kind}, m.A), m.B) }

// DecodeMessage is the inverse of Encode.
func DecodeMessage(b [MessageBytes]byte) Message {
	return Message{Kind: b[0], A: toNumber([4]byte(b[1:5])), B: toNumber([4]byte(b[5:9]))}
}

// appendUint32 is written by hand because package encoding/binary would be initialized before a
// supervisor could start.
func appendUint32(b []byte, n uint32) []byte {
	return append(b, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
}

func toNumber(b [4]byte) uint32 {
	return uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
}

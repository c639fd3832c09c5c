// Proves an export of a history, as docs/history-format.md describes it, and stops at the first problem. It was written
// from that page, and shares no code with guiche. Exit codes: 0 proven, 1 not proven, 2 could not run.
//
//	go run docs/verify/main.go <verifier key> < export.jsonl
package main

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

type line struct {
	Format, HistoryId, AccountId, Checkpoint string // the first line
	Leaf, From, Block                        *int64 // one of them in every other line
	Position                                 int64
	Level                                    int
	Class, Salt, Commitment, Hash            string
	Body                                     *string
}

// Leaves without a gap: the smallest whole subtrees that they make, from left to right.
type edge []subtree
type subtree struct {
	level int
	hash  []byte
}

func (e edge) add(s subtree) edge {
	for len(e) > 0 && e[len(e)-1].level == s.level {
		s = subtree{s.level + 1, hash([]byte{1}, e[len(e)-1].hash, s.hash)}
		e = e[:len(e)-1]
	}
	return append(e, s)
}

func (e edge) root() []byte {
	if len(e) == 0 {
		return hash()
	}
	root := e[len(e)-1].hash
	for i := len(e) - 2; i >= 0; i-- {
		root = hash([]byte{1}, e[i].hash, root)
	}
	return root
}

func hash(parts ...[]byte) []byte {
	sum := sha256.Sum256(bytes.Join(parts, nil))
	return sum[:]
}

func main() {
	key := strings.SplitN(strings.Join(os.Args[1:], ""), "+", 3)
	if len(key) != 3 || decode(key[2], 33) == nil {
		fmt.Fprintln(os.Stderr, "Usage: go run main.go <verifier key> < export.jsonl")
		os.Exit(2)
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 4<<20)
	lines.Scan()
	first := parse(lines.Bytes(), 1)
	account, err := hex.DecodeString(strings.ReplaceAll(first.AccountId, "-", ""))
	require(err == nil && len(account) == 16 && first.Format == "guiche-history-1", "line 1: not an export")
	size, root := openCheckpoint(first, key)

	tree, next, position := edge{}, int64(0), int64(1)
	for number := 2; lines.Scan(); number++ {
		l := parse(lines.Bytes(), number)
		where := fmt.Sprintf("line %d leaf %d position %d: ", number, next, position)
		if l.Block != nil {
			continue // it only helps to locate damage
		}
		from, level, sum := l.From, l.Level, decode(l.Hash, 32)
		if l.Leaf != nil {
			from, level, sum = l.Leaf, 0, leafHash(l, account)
			require(sum != nil, "line %d: unreadable", number)
		}
		require(from != nil && sum != nil && level >= 0 && level < 53, "line %d: unreadable", number)
		require(*from >= next, "line %d leaf %d: repeated", number, *from)
		require(*from == next && next%(1<<level) == 0, where+"missing")
		if l.Leaf != nil {
			require(l.Position == position, where+"another position")
			require(l.Hash == "" || bytes.Equal(sum, decode(l.Hash, 32)), where+"altered")
			position++
		}
		tree = tree.add(subtree{level, sum})
		next += 1 << level
	}
	require(next == size && lines.Err() == nil, "leaf %d: the file ends, and the checkpoint has %d leaves", next, size)
	require(bytes.Equal(tree.root(), root), "the lines do not give the root of the checkpoint")
	fmt.Printf("Proven: %d positions of %s, in a log of %d leaves\n", position-1, first.AccountId, size)
}

func openCheckpoint(first line, key []string) (size int64, root []byte) {
	end := strings.LastIndex(first.Checkpoint, "\n\n") + 1
	fields := strings.Split(first.Checkpoint[:end], "\n")
	require(len(fields) >= 4 && key[0] == fields[0], "line 1: no checkpoint of this key")
	signed := false
	for _, signature := range strings.Split(first.Checkpoint[end+1:], "\n") {
		raw := decode(strings.TrimPrefix(signature, "— "+key[0]+" "), 68)
		if raw != nil && hex.EncodeToString(raw[:4]) == key[1] {
			signed = ed25519.Verify(decode(key[2], 33)[1:], []byte(first.Checkpoint[:end]), raw[4:])
			require(signed, "line 1: the signature does not fit")
		}
	}
	_, err := fmt.Sscan(fields[1], &size)
	require(signed && err == nil, "line 1: not signed by this key")
	require(strings.HasSuffix(fields[0], "/"+first.HistoryId), "line 1: another history")
	return size, decode(fields[2], 32)
}

func leafHash(l line, account []byte) []byte {
	salt, commitment := decode(l.Salt, 16), decode(l.Commitment, 32)
	if l.Body != nil && salt != nil {
		place := binary.BigEndian.AppendUint64(append(salt, account...), uint64(l.Position))
		commitment = hash(place, []byte(*l.Body))
	} else if l.Body != nil || l.Class == "line" || commitment == nil {
		return nil
	}
	return hash([]byte{0}, []byte(l.Class), []byte{0}, commitment)
}

func parse(text []byte, number int) (l line) {
	require(json.Unmarshal(text, &l) == nil, "line %d: unreadable", number)
	return l
}

func decode(text string, length int) []byte {
	raw, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) != length {
		return nil
	}
	return raw
}

func require(holds bool, format string, values ...any) {
	if !holds {
		fmt.Fprintf(os.Stderr, "Not proven: "+format+"\n", values...)
		os.Exit(1)
	}
}

package packages

import (
	"archive/zip"
	"bufio"
	"bytes"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/csv"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What one wheel may hold. More files than that need another form of the archive (ZIP64), which none of PyPI's hundred
// most used packages has.
const (
	maxEntries   = 65_534
	maxUnpacked  = 8 << 30
	maxDirectory = 64 << 20 // bytes of the archive's list of files
	maxRecord    = 32 << 20
)

// An archive is a wheel that was found to be sound: each file's name, kind and content is as its RECORD says.
type archive struct {
	zip    *zip.Reader
	record map[string]recorded
	kept   []member // what a layer is made of
}

type recorded struct {
	algorithm, sum string
	size           int64
}

type member struct {
	file *zip.File
	path string // in the layer
}

// openArchive checks a wheel's list of files, and reads its RECORD. Contents are checked when they are unpacked.
func openArchive(f *os.File, p Package) (*archive, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if err := checkDirectory(f, info.Size()); err != nil {
		return nil, err
	}
	z, err := zip.NewReader(f, info.Size())
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return nil, err
	}
	if len(z.File) > maxEntries {
		return nil, fmt.Errorf("it has %d files, and %d are the most that are taken", len(z.File), maxEntries)
	}
	a := &archive{zip: z, record: map[string]recorded{}}
	if err := a.checkNames(); err != nil {
		return nil, err
	}
	about, err := a.distInfo(p)
	if err != nil {
		return nil, err
	}
	if err := a.readRecord(about); err != nil {
		return nil, err
	}
	a.place(about)
	return a, nil
}

// checkDirectory refuses an archive whose list of files alone would fill the memory, before it is read.
func checkDirectory(f io.ReaderAt, size int64) error {
	const endSize, comment = 22, 1 << 16
	tail := make([]byte, min(size, endSize+comment))
	if _, err := f.ReadAt(tail, size-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	at := bytes.LastIndex(tail, []byte("PK\x05\x06"))
	if at < 0 || len(tail)-at < endSize {
		return zip.ErrFormat
	}
	end := tail[at:]
	le := func(i, n int) (v int64) {
		for n--; n >= 0; n-- {
			v = v<<8 | int64(end[i+n])
		}
		return v
	}
	entries, length, offset := le(10, 2), le(12, 4), le(16, 4)
	if entries == 0xffff || length == 0xffffffff || offset == 0xffffffff {
		return fmt.Errorf("it has more files or bytes than %d and 4 GiB, the most that are taken", maxEntries)
	}
	if length > maxDirectory || size-offset > maxDirectory+comment {
		return fmt.Errorf("its list of files has more than %d MB", maxDirectory>>20)
	}
	return nil
}

// checkNames refuses names and kinds of files that have no place in a wheel.
func (a *archive) checkNames() error {
	var total uint64
	spelt := map[string]string{} // every file and folder, by how a file system that knows no case has it
	files := map[string]bool{}
	for _, f := range a.zip.File {
		name := strings.TrimSuffix(f.Name, "/")
		if why := badName(name); why != "" {
			return fmt.Errorf("the name %.120q in it %s", f.Name, why)
		}
		mode := f.Mode()
		isDir := strings.HasSuffix(f.Name, "/")
		switch {
		case mode&fs.ModeSymlink != 0:
			return fmt.Errorf("%q in it is a link", name)
		case mode&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky) != 0:
			return fmt.Errorf("%q in it would run as another user (mode %v)", name, mode)
		case mode.IsDir() != isDir || !isDir && !mode.IsRegular():
			return fmt.Errorf("%q in it is no regular file (mode %v)", name, mode)
		case f.Method != zip.Store && f.Method != zip.Deflate:
			return fmt.Errorf("%q in it is compressed in a way (%d) that wheels do not have", name, f.Method)
		case f.Flags&1 != 0:
			return fmt.Errorf("%q in it is encrypted", name)
		}
		if total += f.UncompressedSize64; total > maxUnpacked || f.UncompressedSize64 > maxUnpacked {
			return fmt.Errorf("it would take more than %d GiB", maxUnpacked>>30)
		}
		if !isDir {
			if files[name] {
				return fmt.Errorf("%q is in it twice", name)
			}
			files[name] = true
		}
		for at := name; at != "."; at = path.Dir(at) {
			low := strings.ToLower(at)
			if other, taken := spelt[low]; taken && other != at {
				return fmt.Errorf("%q and %q in it differ by case alone", other, at)
			}
			spelt[low] = at
		}
	}
	for name := range files {
		for at := path.Dir(name); at != "."; at = path.Dir(at) {
			if files[at] {
				return fmt.Errorf("%q is a file in it, and a folder", at)
			}
		}
	}
	return nil
}

// badName says what is wrong with a path in a wheel.
func badName(name string) string {
	switch {
	case !utf8.ValidString(name):
		return "is not UTF-8"
	case strings.ContainsFunc(name, unicode.IsControl):
		return "has a control character"
	case strings.ContainsAny(name, `\:`) || !fs.ValidPath(name) || name == ".":
		return "leads out of its folder, or is none"
	case len(name) > 4000 || strings.Count(name, "/") > 64:
		return "is too long"
	}
	for part := range strings.SplitSeq(name, "/") {
		if len(part) > 255 {
			return "is too long"
		}
	}
	return ""
}

// distInfo is the folder of what is said about a wheel, which must be the one that the lock says.
func (a *archive) distInfo(p Package) (string, error) {
	found := ""
	for _, f := range a.zip.File {
		dir, _, _ := strings.Cut(f.Name, "/")
		if strings.HasSuffix(dir, ".dist-info") && dir != found {
			if found != "" {
				return "", fmt.Errorf("it is of two packages, %q and %q", found, dir)
			}
			found = dir
		}
	}
	name, version, _ := strings.Cut(strings.TrimSuffix(found, ".dist-info"), "-")
	if found == "" || Normal(name) != Normal(p.Name) || Normal(version) != Normal(p.Version) {
		return "", fmt.Errorf("it is of %.80q, and should be of %s %s", found, p.Name, p.Version)
	}
	text, err := a.read(found+"/WHEEL", 1<<20)
	if err != nil {
		return "", err
	}
	if !bytes.Contains(append([]byte("\n"), text...), []byte("\nWheel-Version: 1.")) {
		return "", errors.New("it is no wheel of version 1")
	}
	_, err = a.read(found+"/METADATA", maxRecord)
	return found, err
}

// read is a small file of the wheel.
func (a *archive) read(name string, limit int64) ([]byte, error) {
	f, err := a.zip.Open(name)
	if err != nil {
		return nil, fmt.Errorf("it has no %s", path.Base(name))
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = errors.New("it is too large")
	}
	if err != nil {
		return nil, fmt.Errorf("its %s: %w", path.Base(name), err)
	}
	return data, nil
}

// readRecord holds the list of files against RECORD: each is in the other.
func (a *archive) readRecord(about string) error {
	data, err := a.read(about+"/RECORD", maxRecord)
	if err != nil {
		return err
	}
	err = recordRows(data, func(row []string) {
		algorithm, sum, _ := strings.Cut(row[1], "=")
		size, err := strconv.ParseInt(row[2], 10, 64)
		if err != nil {
			size = -1
		}
		a.record[strings.Clone(row[0])] = recorded{strings.Clone(algorithm), strings.Clone(sum), size}
	})
	if err != nil {
		return fmt.Errorf("its RECORD: %w", err)
	}
	there := map[string]bool{}
	for _, f := range a.zip.File {
		if strings.HasSuffix(f.Name, "/") {
			continue
		}
		there[f.Name] = true
		r, listed := a.record[f.Name]
		switch {
		case unsigned(f.Name, about):
		case !listed:
			return fmt.Errorf("%q is in it, and not in its RECORD", f.Name)
		case newHash(r.algorithm) == nil:
			return fmt.Errorf("its RECORD has no SHA-256 of %q", f.Name)
		case r.size >= 0 && uint64(r.size) != f.UncompressedSize64:
			return fmt.Errorf("%q has %d bytes, and %d in its RECORD", f.Name, f.UncompressedSize64, r.size)
		}
	}
	for name := range a.record {
		if !there[name] {
			return fmt.Errorf("%.120q is in its RECORD, and not in it", name)
		}
	}
	return nil
}

// recordRows calls each with the rows of a RECORD, which it does not keep.
func recordRows(data []byte, each func(row []string)) error {
	in := csv.NewReader(bufio.NewReader(bytes.NewReader(data)))
	in.FieldsPerRecord, in.ReuseRecord = 3, true
	for {
		row, err := in.Read()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		each(row)
	}
}

// unsigned are the files that RECORD has no hash of: itself, and its signatures.
func unsigned(name, about string) bool {
	return name == about+"/RECORD" || name == about+"/RECORD.jws" || name == about+"/RECORD.p7s"
}

func newHash(algorithm string) hash.Hash {
	switch algorithm {
	case "sha256":
		return sha256.New()
	case "sha384":
		return sha512.New384()
	case "sha512":
		return sha512.New()
	}
	return nil
}

// place chooses what a layer is made of: what can be imported. Programs, headers and data of a system are left out, and
// .pth files, which Python would execute in a folder that is installed as a whole.
func (a *archive) place(about string) {
	data := strings.TrimSuffix(about, ".dist-info") + ".data/"
	for _, f := range a.zip.File {
		if strings.HasSuffix(f.Name, "/") {
			continue
		}
		to := f.Name
		if rest, ok := strings.CutPrefix(f.Name, data); ok {
			scheme, inside, _ := strings.Cut(rest, "/")
			if scheme != "purelib" && scheme != "platlib" || inside == "" {
				continue
			}
			to = inside
		}
		if !strings.Contains(to, "/") && strings.HasSuffix(strings.ToLower(to), ".pth") {
			continue
		}
		a.kept = append(a.kept, member{f, to})
	}
}

// unpack writes what is kept below root, and returns what it took. Each content is held against RECORD; what is there
// already, from a package before, stays, as with namespaces that several packages share.
func (a *archive) unpack(root *os.Root, room int64) (took int64, err error) {
	for _, m := range a.kept {
		n, err := a.unpackFile(root, m, room-took)
		if took += n; err != nil {
			return took, err
		}
	}
	return took, nil
}

func (a *archive) unpackFile(root *os.Root, m member, room int64) (int64, error) {
	if err := root.MkdirAll(path.Dir(m.path), 0o755); err != nil {
		return 0, fmt.Errorf("unpacking %q: %w", m.path, err)
	}
	out, err := root.OpenFile(m.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o444)
	if errors.Is(err, fs.ErrExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("unpacking %q: %w", m.path, err)
	}
	n, err := a.copyFile(out, m.file, room)
	return n, errors.Join(err, out.Close())
}

// copyFile writes one file's content, and no more than it may have.
func (a *archive) copyFile(out io.Writer, f *zip.File, room int64) (int64, error) {
	in, err := f.Open()
	if err != nil {
		return 0, fmt.Errorf("unpacking %q: %w", f.Name, err)
	}
	defer in.Close()
	r := a.record[f.Name]
	sum := newHash(r.algorithm) // nil for RECORD itself
	to := out
	if sum != nil {
		to = io.MultiWriter(out, sum)
	}
	n, err := io.Copy(to, io.LimitReader(in, room+1))
	switch {
	case err != nil:
		return n, fmt.Errorf("unpacking %q: %w", f.Name, err)
	case n > room:
		return n, fmt.Errorf("the packages would take more than %d GiB", maxUnpacked>>30)
	case sum != nil && base64.RawURLEncoding.EncodeToString(sum.Sum(nil)) != strings.TrimRight(r.sum, "="):
		return n, fmt.Errorf("%q is not what its RECORD says", f.Name)
	}
	return n, nil
}

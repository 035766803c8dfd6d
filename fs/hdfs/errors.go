package hdfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"github.com/paimon-go/paimon-go/fs"
)

var errClosed = errors.New("the file system is closed")

// class tells what to do about an error.
type class int

const (
	// fatal errors are answers: the call wasn't done and won't be.
	fatal class = iota
	// busy is an answer that means "not now": the call wasn't done, the same NameNode or the other one may do it later.
	busy
	// unknown is no answer: the call may have been done.
	unknown
	missing
	exists
	denied
	full
	// noNodes is an answer to addBlock: no DataNode can take the block.
	noNodes
	// misset is an answer to settings of the file that the NameNode does not allow.
	misset
	// blocked is an answer for a path where something else lies than what it takes.
	blocked
)

// exceptions maps Java's classes, without the package, to ours.
var exceptions = map[string]class{
	"StandbyException":                                    busy,
	"SafeModeException":                                   busy,
	"RetriableException":                                  busy,
	"ObserverRetryOnActiveException":                      busy,
	"NotReplicatedYetException":                           busy,
	"RpcServerException":                                  busy,
	"RpcNoSuchProtocolException":                          busy, // a NameNode that is starting
	"NullPointerException":                                busy, // the same, older versions
	"InterruptedIOException":                              busy,
	"CallQueueOverflowException":                          busy,
	"NoNamenodesAvailableException":                       busy, // of routers
	"SubClusterUnavailableException":                      busy,
	"ConnectTimeoutException":                             busy,
	"FileNotFoundException":                               missing,
	"ParentNotDirectoryException":                         blocked,
	"PathIsNotDirectoryException":                         blocked,
	"PathIsDirectoryException":                            blocked,
	"NoSuchFileException":                                 missing,
	"FileAlreadyExistsException":                          exists,
	"AlreadyBeingCreatedException":                        exists,
	"AccessControlException":                              denied,
	"AuthorizationException":                              denied,
	"InvalidToken":                                        denied,
	"NSQuotaExceededException":                            full,
	"DSQuotaExceededException":                            full,
	"QuotaByStorageTypeExceededException":                 full,
	"QuotaExceededException":                              full,
	"FSLimitException$MaxDirectoryItemsExceededException": full,
	"FSLimitException.MaxDirectoryItemsExceededException": full,
}

// remote is what the client library returns for an answer that is an exception.
type remote interface {
	error
	Exception() string
	Message() string
}

// classify tells what an error of conn.call or of connecting means.
func classify(err error) class {
	var r remote
	if !errors.As(err, &r) {
		return classifyLocal(err)
	}
	name := r.Exception()
	name = name[strings.LastIndexByte(name, '.')+1:]
	m := r.Message()
	if c, ok := exceptions[name]; ok {
		if c == missing && strings.Contains(m, "is not a file") {
			return blocked
		}
		return c
	}
	switch {
	case name == "RemoteException" || name == "IOException" || name == "ServiceException":
		return classifyMessage(m)
	case strings.Contains(m, "NameNode is not started") || strings.Contains(m, "still not started"):
		return busy
	}
	return fatal
}

func classifyMessage(m string) class {
	m, _, _ = strings.Cut(m, "\n")
	for _, c := range texts {
		if strings.Contains(m, c.part) {
			return c.class
		}
	}
	return fatal
}

// texts are what tells errors apart that have a class of many meanings. The first that fits holds.
var texts = []struct {
	part  string
	class class
}{
	{"could only be written to", noNodes},
	{"could only be replicated to", noNodes},
	{"not started", busy},
	{"in safe mode", busy},
	{"StandbyException", busy},
	{"too busy", busy},
	{"Requested replication factor of", misset},
	{"min-block-size", misset},
	{"max-blocks-per-file", misset},
	{"must both be directories", blocked}, // of a rename
}

// classifyLocal is for errors that are no answer. What happens while a connection is made has one text for all causes.
func classifyLocal(err error) class {
	m := err.Error()
	switch {
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return unknown
	case errors.Is(err, errLibrary) || errors.Is(err, errClosed) || errors.Is(err, errConfig):
		return fatal
	case strings.Contains(m, "AccessControlException") || strings.Contains(m, "AuthorizationException"),
		strings.Contains(m, "kerberos authentication not supported"), strings.Contains(m, "user not specified"):
		return denied
	case strings.Contains(m, "KDC_ERR") && !strings.Contains(m, "KDC_ERR_SVC_UNAVAILABLE"),
		strings.Contains(m, "KRB_AP_ERR_SKEW"):
		return denied
	}
	return unknown
}

// opError is what callers get. The cause's class of package fs can be asked for by errors.Is.
type opError struct {
	op, path string
	kind     error // of package fs, may be nil
	cause    error
	hint     string
}

func (e *opError) Error() string {
	s := fmt.Sprintf("%s %s: %s", e.op, e.path, message(e.cause))
	if e.hint != "" {
		s += " (" + e.hint + ")"
	}
	return s
}

func (e *opError) Unwrap() []error {
	if e.kind == nil {
		return []error{e.cause}
	}
	return []error{e.kind, e.cause}
}

// fromNameNode tells whether a call to the NameNode has failed, for good or for as long as it is tried.
func fromNameNode(err error) bool { return errors.As(err, new(*opError)) }

// message is one line: Java's messages go on with a stack trace.
func message(err error) string {
	var r remote
	if !errors.As(err, &r) {
		return err.Error()
	}
	name := r.Exception()
	name = name[strings.LastIndexByte(name, '.')+1:]
	first, _, _ := strings.Cut(r.Message(), "\n")
	switch {
	case first == "":
		return name
	case strings.Contains(first, name):
		return first
	}
	return name + ": " + first
}

// wrap makes the error that callers get from one of conn.call.
func wrap(op, path string, err error) error {
	if err == nil {
		return nil
	}
	var done *opError
	if errors.As(err, &done) {
		return err
	}
	e := &opError{op: op, path: path, cause: err}
	if isEnded(err) {
		return e
	}
	switch classify(err) {
	case busy, unknown:
		e.kind = fs.ErrTransient
		e.hint = "the namenode did not answer or refused for the moment; it was asked again until the time for that was over"
		if hungUp(err) {
			e.hint += "; one that wants Kerberos ends connections like this: is hadoop.security.authentication kerberos in the configuration?"
		}
	case noNodes:
		e.kind = fs.ErrTransient
		e.hint = "no datanode takes blocks: are they up and do they have space?"
	case missing:
		e.kind = fs.ErrNotExist
	case blocked:
		e.kind, e.hint = fs.ErrInTheWay, blockedHint(err)
	case exists:
		e.kind = fs.ErrExist
	case denied:
		e.kind = fs.ErrPermission
		e.hint = "check the user (HADOOP_USER_NAME or the Kerberos principal) and the rights on the directory"
	case full:
		e.kind = fs.ErrFull
		e.hint = "make room or raise the quota"
	case misset:
		e.kind, e.hint = fs.ErrConfig, missetHint(err)
	}
	return e
}

// missetHint says which setting the NameNode does not allow, and where it may come from.
func missetHint(err error) string {
	key := "dfs.blocksize"
	if strings.Contains(message(err), "replication") {
		key = "dfs.replication"
	}
	return "correct " + key + ", of --catalog_conf or of the hdfs-site.xml that is read here"
}

// blockedHint says what lies at the path that the NameNode names.
func blockedHint(err error) string {
	m := message(err)
	if strings.Contains(m, "not a file") || strings.Contains(m, "PathIsDirectory") || strings.Contains(m, "both be directories") {
		return "a directory lies there, where a file belongs: remove or rename it"
	}
	return "a file lies there, where a directory belongs: remove or rename it"
}

// isLeaseError tells whether an answer means that a file is no longer open for its writer.
func isLeaseError(r remote) bool {
	return strings.HasSuffix(r.Exception(), "LeaseExpiredException") || strings.HasSuffix(r.Exception(), "RecoveryInProgressException")
}

// hungUp tells whether the other side has ended a connection.
func hungUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// endedError is how a call ends whose context has ended. last is what its last try came to.
type endedError struct{ cause, last error }

func endedBy(ctx context.Context, last error) error {
	var e *endedError
	if errors.As(last, &e) {
		return last
	}
	return &endedError{context.Cause(ctx), last}
}

func (e *endedError) Error() string {
	if e.last == nil || errors.Is(e.last, e.cause) {
		return e.cause.Error()
	}
	return e.cause.Error() + ", last try: " + message(e.last)
}

func (e *endedError) Unwrap() error { return e.cause }

// isEnded does not take a time-out of a connection for that of a context, as errors.Is would.
func isEnded(err error) bool {
	var e *endedError
	return errors.As(err, &e)
}

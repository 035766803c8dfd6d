package s3

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/paimon-go/paimon-go/fs"
)

// class is what an error means for the call.
type class int

const (
	fine      class = iota
	failed          // trying again is of no use
	missing         // there is no such object
	noBucket        // nor a bucket for it
	noUpload        // the upload was completed, aborted or dropped
	exists          // If-None-Match (or If-Match) does not hold
	conflict        // another conditional put is under way, nothing was decided
	throttled       // the store wants fewer requests
	passing         // network, time-outs, faults of the store
	unnamed         // the host's name is not known, which passes more rarely
	denied          // keys or rights
	full            // a quota or a disk of the store
	moved           // the bucket is in another region
	replaced        // while it was read
	badRange        // a read behind the end
	unknown         // the store does not know the call or a header of it
	plain           // the store doesn't speak TLS
	expired         // credentials that a provider may renew
	badName         // no bucket can have it
)

// byCode has the codes that say more than the HTTP status.
var byCode = map[string]class{
	"NoSuchKey": missing, "NotFound": missing, "NoSuchBucket": noBucket, "NoSuchUpload": noUpload,
	"PreconditionFailed": exists, "ConditionalRequestConflict": conflict, "OperationAborted": conflict,
	"SlowDown": throttled, "Throttling": throttled, "ThrottlingException": throttled, "RequestLimitExceeded": throttled,
	"TooManyRequests": throttled, "RequestThrottled": throttled, "BandwidthLimitExceeded": throttled, "SlowDownRead": throttled, "SlowDownWrite": throttled,
	"RequestTimeout": passing, "RequestTimeTooSkewed": passing, "InternalError": passing, "ServiceUnavailable": passing, "IncompleteBody": passing,
	"BadDigest": passing, "XAmzContentSHA256Mismatch": passing,
	"ExpiredToken": expired, "ExpiredTokenException": expired, "TokenRefreshRequired": expired,
	"AccessDenied": denied, "InvalidAccessKeyId": denied, "SignatureDoesNotMatch": denied, "InvalidToken": denied, "AccountProblem": denied,
	"AllAccessDisabled": denied, "Forbidden": denied,
	"XAdminUserNotFound": denied, // an access key that versitygw does not know; its status is 404
	"MethodNotAllowed":   failed,
	"QuotaExceeded":      full, "XMinioStorageFull": full, "XMinioAdminBucketQuotaExceeded": full, "InsufficientStorage": full, "InsufficientStorageSpace": full,
	"PermanentRedirect": moved, "AuthorizationHeaderMalformed": moved, "IllegalLocationConstraintException": moved, "MovedPermanently": moved,
	"InvalidBucketName": badName, "InvalidRange": badRange, "NotImplemented": unknown,
}

func classify(err error) class {
	if err == nil {
		return fine
	}
	var api smithy.APIError
	if errors.As(err, &api) {
		if c, ok := byCode[api.ErrorCode()]; ok {
			return c
		}
	}
	if resp := response(err); resp != nil {
		if c := ofStatus(resp.StatusCode); c != fine {
			return c
		}
	}
	return ofNetwork(err)
}

// ofStatus is for stores with codes of their own and for HEAD, whose errors have no code. fine: the status says nothing.
func ofStatus(status int) class {
	switch {
	case status == http.StatusNotFound:
		return missing
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return denied
	case status == http.StatusMovedPermanently, status == http.StatusTemporaryRedirect:
		return moved
	case status == http.StatusPreconditionFailed:
		return exists
	case status == http.StatusConflict:
		return failed // conflicts that pass have codes
	case status == http.StatusRequestTimeout:
		return passing
	case status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable:
		return throttled
	case status == http.StatusRequestedRangeNotSatisfiable:
		return badRange
	case status == http.StatusNotImplemented:
		return unknown
	case status == http.StatusInsufficientStorage:
		return full
	case status >= 500:
		return passing
	case status >= 400:
		return failed
	}
	return fine
}

func ofNetwork(err error) class {
	if errors.Is(err, errReplaced) {
		return replaced
	}
	var dns *net.DNSError
	var cert *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var netErr net.Error
	var de *smithy.DeserializationError
	var connErr interface{ ConnectionError() bool }
	switch {
	case strings.Contains(err.Error(), "HTTP response to HTTPS client"):
		return plain
	case errors.As(err, &cert), errors.As(err, &authority):
		return failed
	case errors.As(err, &dns) && dns.IsNotFound:
		return unnamed
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled),
		errors.Is(err, errStalled), errors.Is(err, errTooLong), errors.As(err, &de), errors.Is(err, net.ErrClosed):
		return passing
	case errors.As(err, &connErr) && connErr.ConnectionError(), errors.As(err, &netErr):
		return passing
	}
	var no syscall.Errno
	if errors.As(err, &no) {
		return passing
	}
	return failed
}

var errReplaced = errors.New("the file was replaced while it was read")

// errStalled ends a try whose bytes have stopped coming.
var errStalled = errors.New("no byte has come for too long")

func response(err error) *smithyhttp.Response {
	var re *smithyhttp.ResponseError // made of nothing when no answer came
	if errors.As(err, &re) && re.Response != nil && re.Response.Response != nil && re.Response.StatusCode != 0 {
		return re.Response
	}
	return nil
}

// neverSent tells that a request certainly did not reach the store.
func neverSent(err error) bool {
	var op *net.OpError
	var dns *net.DNSError
	var sign *v4.SigningError
	var build *smithy.SerializationError
	return errors.As(err, &op) && op.Op == "dial" || errors.As(err, &dns) || errors.As(err, &sign) || errors.As(err, &build)
}

// fail makes the error of a call: what was done to which file, the cause in few words, the class, and what helps.
func fail(ctx context.Context, call, path string, err error) error {
	if err == nil {
		return nil
	}
	e := &callError{call: call, path: path, err: err}
	if cause := ctx.Err(); cause != nil {
		e.class, e.err = cause, context.Cause(ctx)
		return e
	}
	switch classify(err) {
	case replaced:
		e.class = fs.ErrTransient
	case missing:
		e.class = fs.ErrNotExist
	case exists:
		e.class = fs.ErrExist
	case plain:
		e.class, e.hint = fs.ErrConfig, "the store speaks plain HTTP: write s3.endpoint=http://…"
	case noBucket:
		e.class, e.hint = fs.ErrConfig, "the bucket does not exist: create it, or look at the path and s3.endpoint"
	case badName:
		e.class, e.hint = fs.ErrConfig, "no bucket can have that name: look at the path"
	case noUpload:
		e.hint = "the store has dropped the unfinished upload, perhaps by a lifecycle rule of the bucket"
	case denied:
		e.class, e.hint = fs.ErrPermission, "look at s3.access-key and s3.secret-key (or the profile or role) and its rights to read, write, delete and list in the bucket"
	case expired:
		e.class, e.hint = fs.ErrPermission, "the credentials have expired: renew them and start again"
	case full:
		e.class = fs.ErrFull
	case moved:
		e.class, e.hint = fs.ErrConfig, "the bucket is in another region: set s3.endpoint.region"+region(err)
	case unknown:
		e.class, e.hint = fs.ErrConfig, "this store lacks a call that is needed"
	case throttled, passing, conflict:
		e.class = fs.ErrTransient
	case unnamed:
		e.class, e.hint = fs.ErrTransient, "look at s3.endpoint, and set s3.path.style.access=true if the store has no names for its buckets"
	}
	return e
}

// region reads where a bucket is from the answer of a store that was asked in the wrong place.
func region(err error) string {
	if resp := response(err); resp != nil {
		if r := resp.Header.Get("X-Amz-Bucket-Region"); r != "" {
			return "=" + r
		}
	}
	return ""
}

type callError struct {
	call, path, hint string
	err              error
	class            error // what errors.Is shall find besides the cause
}

func (e *callError) Error() string {
	s := fmt.Sprintf("s3: %s %s: %s", e.call, e.path, cause(e.err))
	if e.hint != "" {
		s += "; " + e.hint
	}
	return s
}

func (e *callError) Unwrap() []error {
	if e.class == nil {
		return []error{e.err}
	}
	return []error{e.class, e.err}
}

// cause shortens what the SDK says of an error to what a person needs; the request's number is for the store's support.
func cause(err error) string {
	resp := response(err)
	if resp == nil {
		var send *smithyhttp.RequestSendError
		if errors.As(err, &send) {
			return send.Err.Error()
		}
		return err.Error()
	}
	s := resp.Status
	var api smithy.APIError
	if errors.As(err, &api) && api.ErrorCode() != "" && api.ErrorCode() != "UnknownError" {
		s = fmt.Sprintf("%d %s", resp.StatusCode, api.ErrorCode())
		if m := api.ErrorMessage(); m != "" && m != api.ErrorCode() {
			s += " (" + m + ")"
		}
	}
	var id interface{ ServiceRequestID() string }
	if errors.As(err, &id) && id.ServiceRequestID() != "" {
		s += ", request " + id.ServiceRequestID()
	}
	return s
}

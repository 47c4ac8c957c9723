package signin

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"time"
)

// keyMethod is how a client says who it is whose secret is a private key: it signs an assertion for each request (RFC
// 7523 section 2.2).
const keyMethod = "private_key_jwt"

const (
	assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
	assertionLife = time.Minute
)

// isKey says whether a client's secret is a private key.
func isKey(secret string) bool { return strings.Contains(secret, "-----BEGIN ") }

// assert is what says for a minute that this client asks the authorization server, and nobody else.
func (c Client) assert(now time.Time) (string, error) {
	algorithm, sign, err := signer(c.Secret)
	if err != nil {
		return "", err
	}
	head, err := json.Marshal(map[string]string{"alg": algorithm, "typ": "JWT"})
	if err != nil {
		return "", err
	}
	claims, err := json.Marshal(map[string]any{
		"iss": c.ID, "sub": c.ID, "aud": c.Audience, "jti": rand.Text(),
		"iat": now.Unix(), "exp": now.Add(assertionLife).Unix(),
	})
	if err != nil {
		return "", err
	}
	text := base64.RawURLEncoding.EncodeToString(head) + "." + base64.RawURLEncoding.EncodeToString(claims)
	signature, err := sign([]byte(text))
	if err != nil {
		return "", fmt.Errorf("signing with the client's key: %w", err)
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(signature), nil
}

// signer reads a private key in PEM, and returns how it signs, by RFC 7518 and RFC 8037. Errors quote nothing of it.
func signer(text string) (algorithm string, sign func([]byte) ([]byte, error), err error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return "", nil, errors.New("the client's key is no PEM")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		if rsaKey, bad := x509.ParsePKCS1PrivateKey(block.Bytes); bad == nil {
			key, err = rsaKey, nil
		} else if ecKey, bad := x509.ParseECPrivateKey(block.Bytes); bad == nil {
			key, err = ecKey, nil
		}
	}
	if err != nil {
		return "", nil, errors.New("the client's key cannot be read; PKCS #8 without a password can")
	}
	switch k := key.(type) {
	case *rsa.PrivateKey:
		return "RS256", func(data []byte) ([]byte, error) {
			sum := sha256.Sum256(data)
			return rsa.SignPKCS1v15(nil, k, crypto.SHA256, sum[:])
		}, nil
	case *ecdsa.PrivateKey:
		if k.Curve == elliptic.P256() {
			return "ES256", func(data []byte) ([]byte, error) {
				sum := sha256.Sum256(data)
				r, s, err := ecdsa.Sign(rand.Reader, k, sum[:])
				if err != nil {
					return nil, err
				}
				both := make([]byte, 64)
				r.FillBytes(both[:32])
				s.FillBytes(both[32:])
				return both, nil
			}, nil
		}
	case ed25519.PrivateKey:
		return "EdDSA", func(data []byte) ([]byte, error) { return ed25519.Sign(k, data), nil }, nil
	}
	return "", nil, errors.New("the client's key is neither RSA nor P-256 nor Ed25519")
}

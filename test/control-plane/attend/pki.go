package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

type identity struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// writePKI writes ca.crt, server.crt and .key, client.crt and .key (user admin of system:masters) and sa.key.
func writePKI(directory string) error {
	authority, err := issue(directory, "ca", template(1, pkix.Name{CommonName: "drydock-test-ca"}), nil)
	if err != nil {
		return err
	}
	server := template(2, pkix.Name{CommonName: "kube-apiserver"})
	server.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	server.DNSNames = []string{"localhost", "kubernetes.default.svc"}
	server.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(10, 0, 0, 1)}
	if _, err := issue(directory, "server", server, authority); err != nil {
		return err
	}
	client := template(3, pkix.Name{CommonName: "admin", Organization: []string{"system:masters"}})
	client.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if _, err := issue(directory, "client", client, authority); err != nil {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	return writeKey(filepath.Join(directory, "sa.key"), key)
}

func template(serial int64, subject pkix.Name) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(serial),
		Subject:      subject,
		// Clocks of containers and hosts differ a little.
		NotBefore: time.Now().Add(-time.Hour),
		NotAfter:  time.Now().AddDate(0, 0, 7),
		KeyUsage:  x509.KeyUsageDigitalSignature,
	}
}

// issue writes NAME.crt and NAME.key, signed by the authority, or by itself when there is none yet.
func issue(directory, name string, wanted *x509.Certificate, authority *identity) (*identity, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	if authority == nil {
		wanted.IsCA, wanted.BasicConstraintsValid = true, true
		wanted.KeyUsage |= x509.KeyUsageCertSign
		authority = &identity{wanted, key}
	}
	der, err := x509.CreateCertificate(rand.Reader, wanted, authority.certificate, &key.PublicKey, authority.key)
	if err != nil {
		return nil, err
	}
	if err := writePEM(filepath.Join(directory, name+".crt"), "CERTIFICATE", der); err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &identity{certificate, key}, writeKey(filepath.Join(directory, name+".key"), key)
}

func writeKey(path string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return writePEM(path, "EC PRIVATE KEY", der)
}

func writePEM(path, kind string, der []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}

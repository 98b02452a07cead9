import { expect, test } from "vitest";
import { reachOfAddress, reachOfHost } from "./address-reach.ts";

test.each([
  ["public", "8.8.8.8", "172.15.0.1", "172.32.0.1", "2606:4700::1111", "2a00:1450:4001::1"],
  ["public", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8"],
  ["private", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1"],
  ["private", "fc00::1", "fd12:3456::1", "::ffff:10.0.0.1", "::ffff:a00:1", "64:ff9b::192.168.0.1"],
  ["loopback", "127.0.0.1", "127.255.255.254", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1"],
  // Link-local, and what clouds answer with credentials.
  ["never", "169.254.169.254", "169.254.0.1", "fe80::1", "fe80::1%eth0", "febf::1"],
  ["never", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1"],
  ["never", "fd00:ec2::254", "fd20:ce::254", "100.100.100.200", "168.63.129.16", "192.0.0.192"],
  // Tunnels and translations of private addresses.
  ["never", "2002:a00:1::1", "2002:7f00:1::", "2001::1", "::7f00:1", "::a00:1"],
  ["never", "::ffff:0:10.0.0.1", "64:ff9b:1::a00:1"],
  // Nobody's.
  ["never", "0.0.0.0", "0.1.2.3", "::", "224.0.0.1", "255.255.255.255", "240.0.0.1", "192.0.2.1"],
  ["never", "198.18.0.1", "ff02::1", "2001:db8::1", "100::1", "fec0::1", "4000::1"],
  ["never", "", "not an address", "1.2.3.4.5", "10.0.0.1:80"],
])("%s addresses: %s, %s, …", (reach, ...addresses) => {
  expect(addresses.map((address) => [address, reachOfAddress(address)])).toEqual(
    addresses.map((address) => [address, reach]),
  );
});

test.each([
  ["public", "https://login.example", "https://login.example.", "https://xn--bcher-kva.example"],
  ["public", "https://bücher.example", "https://internal.example", "https://127.0.0.1.example"],
  [
    "loopback",
    "https://localhost",
    "https://localhost.",
    "https://LOCALHOST",
    "https://a.localhost.",
  ],
  ["loopback", "https://2130706433", "https://0x7f.1", "https://0177.0.0.1", "https://127.1"],
  [
    "loopback",
    "https://127.0.0.1.",
    "https://[::1]",
    "https://[::ffff:7f00:1]",
    "https://①②⑦.0.0.1",
  ],
  ["private", "https://167772161", "https://10.1", "https://0xa000001", "https://[fd00::1]"],
  [
    "private",
    "https://keycloak",
    "https://login.corp",
    "https://printer.local",
    "https://a.internal.",
  ],
  ["never", "https://169.254.169.254", "https://0xa9fea9fe", "https://[::ffff:a9fe:a9fe]"],
  ["never", "https://0", "https://0.0.0.0", "https://[::]", "https://metadata.google.internal."],
])("hosts of URLs that are %s: %s, %s, …", (reach, ...urls) => {
  expect(urls.map((url) => [url, reachOfHost(new URL(url).hostname)])).toEqual(
    urls.map((url) => [url, reach]),
  );
});

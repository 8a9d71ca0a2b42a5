/** Networks of clients' addresses, by which attempts and looks are counted. */
import ipaddr from 'ipaddr.js';

/**
 * What a client's address is counted as. For IPv6 it is the network, the first half: who has one address of a
 * network usually has all of them.
 */
export function toNetwork(address: string): string {
  if (!address.includes(':') || !ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed.kind() === 'ipv4'
    ? parsed.toString()
    : `${Buffer.from(parsed.toByteArray().slice(0, 8)).toString('hex')}/64`;
}

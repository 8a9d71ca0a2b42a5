/**
 * The yardstick: http-proxy-3 and nothing else, set up as well as it can be. It checks no key, keeps no books
 * and reads no byte of what goes through; its agent keeps connections, without which it would open one a
 * call.
 */
import { Agent, createServer } from 'node:http';
import { createProxyServer } from 'http-proxy-3';

const [port, target] = process.argv.slice(2);
if (!port || !target) throw new Error('usage: node bare.ts <port> <target>');

const agent = new Agent({ keepAlive: true, maxSockets: 1024, maxFreeSockets: 1024 });
const proxy = createProxyServer({ target, agent });
// Clients that leave in the middle of a stream are part of every round.
proxy.on('error', (_error, _request, response) => void response.destroy());
createServer((request, response) => proxy.web(request, response)).listen(Number(port), '127.0.0.1');

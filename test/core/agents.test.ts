/** Which targets are called through which proxy, by the usual variables. */
import { expect, it } from 'vitest';
import { createProxyFinder } from '../../core/upstream/agents.ts';

const [plain, secure] = ['http://plain.test:3128/', 'http://secure.test:3128/'];

function find(target: string, environment: Record<string, string>): string | undefined {
  return createProxyFinder(environment)(new URL(target));
}

it.each([
  ['https://api.test/v1', { HTTP_PROXY: plain, HTTPS_PROXY: secure }, secure],
  ['http://api.test/v1', { HTTP_PROXY: plain, HTTPS_PROXY: secure }, plain],
  ['https://api.test/v1', { HTTP_PROXY: plain }, plain],
  ['http://api.test/v1', { HTTPS_PROXY: secure }, undefined],
  ['https://api.test/v1', { https_proxy: secure, HTTPS_PROXY: plain }, secure],
  ['https://api.test/v1', { HTTPS_PROXY: 'secure.test:3128' }, secure],
  ['https://api.test/v1', { HTTPS_PROXY: '' }, undefined],
  ['https://api.test/v1', {}, undefined],
])('the proxy for a target of %s with %o is %s', (target, environment, proxy) => {
  expect(find(target, environment)).toBe(proxy);
});

it.each([
  'http://localhost:11434/',
  'http://models.localhost/',
  'http://127.0.0.1:8000/',
  'http://127.9.9.9/',
  'http://[::1]:8000/',
])('the proxy for a target is none for this machine: %s', (target) => {
  expect(find(target, { HTTP_PROXY: plain })).toBeUndefined();
});

it.each([
  ['https://api.test/', 'api.test', false],
  ['https://api.test./', 'API.test', false],
  ['https://eu.api.test/', 'api.test', false],
  ['https://eu.api.test/', '.api.test', false],
  ['https://eu.api.test/', 'other.test, *.api.test', false],
  ['https://myapi.test/', 'api.test', true],
  ['https://api.test/', '*', false],
  ['https://api.test/', 'api.test:443', false],
  ['https://api.test:8443/', 'api.test:443', true],
  ['https://10.1.2.3/', '10.0.0.0/8', false],
  ['https://11.1.2.3/', '10.0.0.0/8', true],
  ['https://10.test/', '10.0.0.0/8', true],
  ['https://10.1.2.3/', '10.1.2.3', false],
  ['https://10.1.2.3:8443/', '10.1.2.3:443', true],
  ['https://[fd00::12]/', 'fd00::/8', false],
  ['https://[fd00::12]/', 'fd00:0::12', false],
  ['https://[fd00::12]:8443/', '[fd00::12]:443', true],
  ['https://[fe80::1]/', 'fd00::/8', true],
  ['https://api.test/', ' , ', true],
])('the proxy for a target of %s with NO_PROXY=%s is used: %s', (target, NO_PROXY, isProxied) => {
  expect(find(target, { HTTPS_PROXY: secure, NO_PROXY })).toBe(isProxied ? secure : undefined);
});

it.each(['socks5://user:secret@proxy.test', 'http://', 'http://user:secret@pro xy'])(
  'the proxy for a target must be an HTTP one, and an error does not show its password: %s',
  (value) => {
    expect(() => createProxyFinder({ HTTPS_PROXY: value })).toThrow(
      /^HTTPS_PROXY has to be the URL(?!.*secret@)/,
    );
  },
);

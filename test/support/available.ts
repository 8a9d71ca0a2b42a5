/** What a test needs of the machine: without it the test is skipped, but fails in CI. */
export function checkAvailable(present: boolean, what: string): boolean {
  if (!present && /^(1|true)$/i.test(process.env.CI ?? '')) {
    throw new Error(`CI skips no test, and this machine lacks ${what}`);
  }
  return present;
}

/** Tests that read `/proc` or write to `/dev/full`. */
export const onLinux = checkAvailable(process.platform === 'linux', 'Linux');

import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';
import { afterEach, expect, it, vi } from 'vitest';
import { findCommandAuthor } from '../../plugins/shared/operator-verbs.ts';

afterEach(() => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
});

it('a command is run by a user, who has a number where the system knows no name', () => {
  expect(findCommandAuthor()).toBe(`cli:${os.userInfo().username}`);
  vi.spyOn(os, 'userInfo').mockImplementation(() => {
    throw new Error('uv_os_get_passwd returned ENOENT');
  });
  syncBuiltinESMExports();
  expect(findCommandAuthor()).toBe(`cli:${process.getuid?.() ?? 'unknown'}`);
});

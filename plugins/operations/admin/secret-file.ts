/**
 * The secret of the admin listener. It is made on the first start, in a file that only its owner can read.
 * There is no default secret, and the gateway shows where the file is but never what is in it.
 */
import { readPrivateFile } from '../../shared/private-file.ts';
import { createSecret } from '../../shared/secret.ts';

/** Minimum length of a secret that the operator wrote into the file. A shorter one could be guessed. */
const shortest = 32;

/** Throws if the file holds no usable secret: an empty one would admit everybody. */
export function readSecret(file: string): string {
  return readPrivateFile(
    file,
    () => createSecret('operator'),
    (secret) =>
      secret.length < shortest || /\s/.test(secret)
        ? `has to hold a secret of at least ${shortest} characters in one word`
        : undefined,
  );
}

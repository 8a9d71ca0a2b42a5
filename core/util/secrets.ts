/** Keeps the secrets of this process out of texts that people read. */

const secretVariable = /KEY|SECRET|TOKEN|PASSWORD|CREDENTIAL/i;

/** Secrets of the environment that a text could repeat. */
export function listSecrets(): string[] {
  return Object.entries(process.env).flatMap(([name, value]) =>
    value !== undefined && value.length >= 6 && secretVariable.test(name) ? [value] : [],
  );
}

/** A text without the secrets of the environment, and without the passwords of URLs. */
export function hideSecrets(text: string): string {
  const plain = listSecrets().reduce((rest, secret) => rest.replaceAll(secret, '••••'), text);
  return plain
    .replaceAll(/\b(\w{1,30}:\/\/)[^\s/@"']+@/g, '$1••••@')
    .replaceAll(/([?&](?=[\w-]*(?:key|token|secret|password|sig))[\w-]+=)[^&\s"']+/gi, '$1••••');
}

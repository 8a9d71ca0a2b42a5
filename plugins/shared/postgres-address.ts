/**
 * Gives `sslmode` in the address of a PostgreSQL the meaning that PostgreSQL documents, which `pg` does only
 * if the address asks for it. Otherwise `pg` treats `require` as `verify-full` and prints a warning with each
 * command.
 */
export function followLibpq(url: string): string {
  const address = new URL(url);
  const mode = address.searchParams.get('sslmode');
  // PostgreSQL has no `no-verify`. `pg` would verify if it were asked to follow PostgreSQL.
  if (mode !== null && mode !== 'no-verify') address.searchParams.set('uselibpqcompat', 'true');
  return address.href;
}

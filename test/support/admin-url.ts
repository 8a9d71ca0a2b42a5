/** The address of the operators' listener in what a gateway printed. Throws if it printed none. */
export function findAdminUrl(printed: string | readonly string[] | undefined): string {
  const url = /^For operators: (http:\S+) /m.exec([printed].flat().join('\n'))?.[1];
  if (url === undefined) throw new Error(`the gateway printed no address for operators:\n${String(printed)}`);
  return url;
}

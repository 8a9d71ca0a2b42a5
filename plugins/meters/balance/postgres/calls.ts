/** Adds stored calls in PostgreSQL, in a transaction of their own. */
import { callColumns } from '../calls/records.ts';
import { addNoted } from '../calls/sums.ts';
import type { Answer, Argument } from '../operations.ts';
import { askRows, nameStatements, type Steps } from '../sql/steps.ts';

const columns = callColumns.join(', ');

const sql = nameStatements('stored calls of PostgreSQL', {
  add: `
    WITH added AS (
      INSERT INTO calls (${columns}, body) SELECT ${columns}, record::text
      FROM json_array_elements($1) AS record, json_populate_record(NULL::calls, record)
      ON CONFLICT (call) DO NOTHING RETURNING number, ended, tags)
    INSERT INTO call_tags (tag, ended, number)
    SELECT tag.key || CASE tag.value WHEN '' THEN '' ELSE ':' || tag.value END, ended, number FROM added
    CROSS JOIN LATERAL json_each_text(tags::json) AS tag WHERE tags <> '{}'`,
});

export function* addCalls({ calls }: Argument<'addCalls'>): Steps<Answer<'addCalls'>> {
  if (calls.length > 0) yield* askRows(sql.add, `[${calls.join(',')}]`);
  return { isDone: yield* addNoted() };
}

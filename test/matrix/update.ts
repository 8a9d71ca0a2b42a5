/** Measures the matrix again and writes it down, here and in the README: `npm run matrix`. */
import { measure, readReadme, insertTable, writeMatrix, writeReadme } from './matrix.ts';

const { matrix, broken } = await measure();
for (const line of broken) process.stderr.write(`${line}\n`);
process.exitCode = broken.length > 0 ? 1 : 0;
writeMatrix(matrix);
writeReadme(insertTable(readReadme(), matrix));

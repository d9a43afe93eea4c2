// eslint-lines.mjs - eslint's findings as lint.sh takes them: "file:line: what".
import path from 'node:path';

export default results => results.flatMap(({ filePath, messages }) => messages.map(m =>
    `${path.relative(process.cwd(), filePath)}:${m.line ?? 1}: ${m.message} (${m.ruleId ?? 'eslint'})\n`)).join('');

// Puts JSON in canonical form (RFC 8785), as the tests of internal/canon have Rondo
// do it. Reads one document per line and writes one line per document: its
// canonical form, or "refused: " and why.
import canonicalize from 'canonicalize';

function answer(line) {
  try {
    return `${canonicalize(JSON.parse(line))}\n`;
  } catch (error) {
    return `refused: ${String(error.message ?? error).split('\n')[0]}\n`;
  }
}

// Lines end with a line feed alone: node's readline would also break them at
// carriage returns and at U+2028, which documents may contain.
let rest = Buffer.alloc(0);
for await (const chunk of process.stdin) {
  const read = Buffer.concat([rest, chunk]);
  let answers = '';
  let from = 0;
  for (let end = read.indexOf(10); end >= 0; end = read.indexOf(10, from)) {
    answers += answer(read.toString('utf8', from, end));
    from = end + 1;
  }
  rest = read.subarray(from);
  if (answers !== '' && !process.stdout.write(answers)) {
    await new Promise((resolve) => process.stdout.once('drain', resolve));
  }
}

// readme.mjs - the commands that the READMEs show, as they stand there, against the daemon: what they
// answer is what is printed below them.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { codeBlock, codeBlocks, dialogue } from './lib/blocks.mjs';

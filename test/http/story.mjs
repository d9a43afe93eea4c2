// The story of a trial (test/trial/story.mjs, `make story`) with few sessions.
process.env.QUICK = '1';
await import('../trial/story.mjs');

// eslint.config.mjs - rules for all JavaScript. Node code runs on Debian 12's own Node, 18.20; code of
// pages runs in browsers that know ES2022 (Chrome 94, Firefox 93, Safari 16.4) and as tests in that Node.
import js from '@eslint/js';
import esx from 'eslint-plugin-es-x';
import n from 'eslint-plugin-n';
import globals from 'globals';

const NODE = '>=18.20.4';

// Everything newer than ES2022, but for what Node 18 and those browsers have.
const newer = Object.fromEntries(['es2023', 'es2024', 'esnext', 'es2023-intl-api', 'es2024-intl-api',
    'esnext-intl-api'].flatMap(year => Object.entries(esx.configs[`flat/no-new-in-${year}`].rules)));
for (const had of ['no-array-prototype-findlast-findlastindex', 'no-hashbang', 'no-atomics-waitasync',
    'no-intl-numberformat-prototype-formatrange', 'no-intl-numberformat-prototype-formatrangetoparts',
    'no-intl-pluralrules-prototype-selectrange'])
    newer[`es-x/${had}`] = 'off';
// A method's name is enough to refuse it (`aggressive` below), as no types are known. Methods of iterators
// whose names arrays have too are refused only where the object is certainly an iterator.
for (const name of ['every', 'filter', 'find', 'flatmap', 'foreach', 'map', 'reduce', 'some',
    'take'])
    newer[`es-x/no-iterator-prototype-${name}`] = ['error', { aggressive: false }];
newer['es-x/no-resizable-and-growable-arraybuffers'] = ['error', { aggressive: false }]; // resize(), grow()

export default [
    { ignores: ['**/node_modules/', 'build/', 'var/', 'web/vendor/'] },
    {
        files: ['**/*.{js,mjs}'],
        linterOptions: { reportUnusedDisableDirectives: 'error' },
        plugins: { 'es-x': esx },
        settings: { 'es-x': { aggressive: true } },
        rules: {
            ...js.configs.recommended.rules,
            'no-unused-vars': ['error', { ignoreRestSiblings: true, argsIgnorePattern: '^_', caughtErrors: 'none' }],
            ...newer,
        },
    },
    {
        files: ['web/**/*.js'],
        languageOptions: { ecmaVersion: 2022, sourceType: 'module', globals: { ...globals.browser, uPlot: 'readonly' } },
    },
    {
        files: ['**/*.mjs'],
        plugins: { n },
        // functions of tests that run in a page name what a page has
        languageOptions: { ecmaVersion: 2022, sourceType: 'module', globals: { ...globals.browser, ...globals.node } },
        rules: {
            'n/no-unsupported-features/es-builtins': ['error', { version: NODE }],
            'n/no-unsupported-features/es-syntax': ['error', { version: NODE,
                ignores: ['resizable-and-growable-arraybuffers'] }],
            // experimental there: fetch; not a global of its own modules there, but of pages: the observer
            'n/no-unsupported-features/node-builtins': ['error', { version: NODE, allowExperimental: true,
                ignores: ['PerformanceObserver'] }],
            'no-restricted-syntax': ['error', {
                selector: 'AssignmentExpression > MemberExpression.left[object.name="performance"], ' +
                    'AssignmentExpression > MemberExpression.left[object.property.name="performance"]',
                message: 'Node 18 lets nobody assign to what performance inherits: use Object.defineProperty',
            }],
        },
    },
];

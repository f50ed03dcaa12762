// SPDX-License-Identifier: Apache-2.0
// The part of the native `solc` command line that brownie (py-solc-x), slither (crytic-compile)
// and forge use, implemented with the npm package `solc`: the same compiler, built to WebAssembly.
'use strict';
const fs = require('fs');
const path = require('path');

const OPTIONS_WITH_VALUE = new Set([
  '--base-path', '--include-path', '-I', '--allow-paths', '--combined-json', '--evm-version',
  '--optimize-runs', '--libraries', '--output-dir', '-o', '--metadata-hash', '--revert-strings',
]);

function parse(argv) {
  const options = { roots: [], files: [], remappings: [], flags: {} };
  for (let i = 0; i < argv.length; i++) {
    let [name, value] = [argv[i], undefined];
    if (name.startsWith('--') && name.includes('=')) {
      [name, value] = [name.slice(0, name.indexOf('=')), name.slice(name.indexOf('=') + 1)];
    }
    if (OPTIONS_WITH_VALUE.has(name) && value === undefined) value = argv[++i];
    if (name === '--base-path') options.roots.unshift(value);
    else if (name === '--include-path' || name === '-I') options.roots.push(value);
    else if (name.startsWith('-') && name !== '-') options.flags[name.replace(/^-+/, '')] = value ?? true;
    else if (name.includes('=') && !fs.existsSync(name)) options.remappings.push(name);
    else options.files.push(name);
  }
  if (!argv.includes('--base-path')) options.roots.unshift(process.cwd());
  return options;
}

function reader(roots) {
  return (name) => {
    const file = name.replace(/^file:\/\//, '');
    for (const root of path.isAbsolute(file) ? [''] : roots) {
      const candidate = path.join(root, file);
      if (fs.existsSync(candidate)) return { contents: fs.readFileSync(candidate, 'utf8') };
    }
    return { error: `"${file}" was not found under ${roots.join(', ')}` };
  };
}

function compile(input, roots) {
  const solc = require('solc');
  const read = reader(roots);
  for (const source of Object.values(input.sources)) {
    const found = (source.urls ?? []).map(read).find((answer) => answer.contents !== undefined);
    if (source.content === undefined && found) {
      source.content = found.contents;
      delete source.urls;
    }
  }
  return solc.compile(JSON.stringify(input), { import: read });
}

function standardJson({ files, roots }) {
  const input = files.length && files[0] !== '-' ? files[0] : 0;
  process.stdout.write(compile(JSON.parse(fs.readFileSync(input, 'utf8')), roots) + '\n');
}

function combinedJson({ files, flags, remappings, roots }, version) {
  const contractOutput = ['abi', 'evm.bytecode', 'evm.deployedBytecode', 'devdoc', 'userdoc', 'metadata',
    'evm.methodIdentifiers'];
  const settings = {
    remappings,
    optimizer: { enabled: !!flags.optimize, runs: Number(flags['optimize-runs'] ?? 200) },
    outputSelection: { '*': { '*': contractOutput, '': ['ast'] } },
  };
  if (flags['evm-version']) settings.evmVersion = flags['evm-version'];
  if (flags['via-ir']) settings.viaIR = true;
  const sources = Object.fromEntries(
    files.map((file) => [file, { content: fs.readFileSync(file === '-' ? 0 : file, 'utf8') }]));
  const output = JSON.parse(compile({ language: 'Solidity', sources, settings }, roots));
  const errors = output.errors ?? [];
  errors.forEach((error) => process.stderr.write(error.formattedMessage + '\n'));
  if (errors.some((error) => error.severity === 'error')) {
    process.exitCode = 1;
    return;
  }
  const combined = { contracts: {}, sources: {}, sourceList: [], version };
  for (const [file, source] of Object.entries(output.sources)) {
    combined.sources[file] = { AST: source.ast, id: source.id };
    combined.sourceList[source.id] = file;
  }
  for (const [file, contracts] of Object.entries(output.contracts)) {
    for (const [name, { abi, devdoc, evm, metadata, userdoc }] of Object.entries(contracts)) {
      combined.contracts[`${file}:${name}`] = {
        abi, devdoc, metadata, userdoc,
        bin: evm.bytecode.object,
        'bin-runtime': evm.deployedBytecode.object,
        srcmap: evm.bytecode.sourceMap,
        'srcmap-runtime': evm.deployedBytecode.sourceMap,
        hashes: evm.methodIdentifiers,
      };
    }
  }
  process.stdout.write(JSON.stringify(combined) + '\n');
}

exports.main = (version) => {
  const options = parse(process.argv.slice(2));
  if (options.flags.version) {
    process.stdout.write(`solc, the solidity compiler commandline interface\nVersion: ${version}\n`);
  } else if (options.flags['standard-json']) standardJson(options);
  else if (options.flags['combined-json']) combinedJson(options, version);
  else {
    process.stderr.write('solc shim: only --version, --standard-json and --combined-json are answered\n');
    process.exitCode = 1;
  }
};

#!/bin/sh
# vendor.sh - copies the libraries of the demo page, with their licences, from node_modules to vendor.
# Run it in web/ after `npm ci --ignore-scripts`; vendor/ is never committed.
set -eu
cd "$(dirname "$0")/.."

rm -rf vendor && mkdir vendor
cp node_modules/dashjs/dist/modern/umd/dash.mediaplayer.min.js vendor/
cp node_modules/dashjs/LICENSE.md vendor/dashjs-LICENSE.md
cp node_modules/hls.js/dist/hls.min.js vendor/
cp node_modules/hls.js/LICENSE vendor/hlsjs-LICENSE
cp node_modules/shaka-player/dist/shaka-player.compiled.js vendor/
cp node_modules/shaka-player/LICENSE vendor/shaka-LICENSE
cp node_modules/uplot/dist/uPlot.iife.min.js node_modules/uplot/dist/uPlot.min.css vendor/
cp node_modules/uplot/LICENSE vendor/uPlot-LICENSE

# The front door: everything a newcomer needs, each target sets up what it uses.
#   make demo    set up, build, classify real digits, show what ran
#   make test    set up, build, run all tests
#   make test-python  build the Python wheel, install it into fresh environments, run its tests
#   make lint    formatting, layering, style, clang-tidy
#   make bench   micro benchmarks of kernels; with MODELS=FOLDER whole models: tiers, roofline, hottest nodes;
#                with SERVING=MODEL INPUTS=CASE slow calls beside compile jobs, throughput beside swaps
#   make package      release packages in build/release/package: .tar.gz and .deb
#   make test-package installs them and builds a program against each
#   make test-page    opens the page of `tierup explain --html` in a headless browser (installs chromium)
#   make test-aarch64 cross-builds for 64-bit ARM and runs unit tests and models on an emulator (PART=part: minutes)
#   make faults       plants faults one by one and shows that a test finds each (tests/planted_faults.ini)
#   make variants  models and text programs under every way in which plans are made and run
PRESET ?= release
BUILD := build/$(PRESET)
# Shortens builds from nothing: precompiled headers, and the command's files compiled several at once.
CONFIGURE := cmake --preset $(PRESET) $(if $(filter release,$(PRESET)),-DTIERUP_PCH=ON -DTIERUP_UNITY=ON)

.PHONY: all build setup demo test test-python test-package test-page test-aarch64 lint tidy bench package sanitize fuzz faults variants coverage clean
all: build

setup:
	@tools/setup.sh

$(BUILD)/build.ninja:
	$(CONFIGURE)

build: setup $(BUILD)/build.ninja
	ninja -C $(BUILD)

demo: setup $(BUILD)/build.ninja
	ninja -C $(BUILD) tierup  # And the code generator, which it loads.
	@python3 tools/demo.py $(BUILD)/tierup

test: build
	@tools/run_tests.sh $(BUILD)

test-python: setup $(BUILD)/build.ninja
	@tools/setup.sh --ci
	ninja -C $(BUILD) tierup_shared tierup
	@BUILD=$(BUILD) tools/test_python.sh

lint:
	@tools/setup.sh --ci
	@tools/lint.sh

tidy:
	@tools/setup.sh --ci
	@tools/lint.sh --tidy

bench:
	@tools/setup.sh --ci
	$(CONFIGURE) -DTIERUP_BENCHMARKS=ON
ifdef MODELS
	ninja -C $(BUILD) models_benchmark
	$(BUILD)/models_benchmark $(MODELS)
else ifdef SERVING
	ninja -C $(BUILD) serving_benchmark
	$(BUILD)/serving_benchmark $(SERVING) --inputs $(INPUTS)
	$(BUILD)/serving_benchmark $(SERVING) --inputs $(INPUTS) --swaps
else
	ninja -C $(BUILD) kernels_benchmark
	$(BUILD)/bench/kernels_benchmark
endif

package: setup $(BUILD)/build.ninja
	ninja -C $(BUILD) tierup tierup_shared
	rm -rf $(BUILD)/package
	cpack --config $(BUILD)/CPackConfig.cmake -B $(BUILD)/package

test-package: setup $(BUILD)/build.ninja
	ninja -C $(BUILD) tierup tierup_shared
	@tools/test_package.sh $(BUILD)

test-page: setup $(BUILD)/build.ninja
	@tools/setup.sh --page
	ninja -C $(BUILD) tierup
	@python3 tests/page/check_page.py $(BUILD)/tierup tests/data/zoo

test-aarch64:
	@tools/test_aarch64.sh $(PART)

sanitize:
	@tools/setup.sh --ci
	@tools/sanitize.sh

fuzz:
	@tools/setup.sh --ci
	@tools/fuzz.sh

faults:
	@tools/setup.sh
	@python3 tools/planted_faults.py

variants: build
	@BUILD=$(BUILD) tools/variants.sh

coverage:
	@$(MAKE) --no-print-directory build PRESET=coverage
	@tools/coverage.sh

clean:
	rm -rf build
